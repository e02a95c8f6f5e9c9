"""ManagedSeedSets and their SeedAutoscalers.

`ordinals` and `replicas` identify replicas, `rollout` and `three_way_merge` bring them to a changed
template, `scale_in` chooses which to remove, `replica_calculator` and `scale_behavior` how many
there should be, like a HorizontalPodAutoscaler.
"""
