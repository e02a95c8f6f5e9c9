"""The controllers of worker pools."""

from typing import Final

from webhook.api.core import CustomResourceDefinition, Namespace
from webhook.api.extensions import Cluster, Worker
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.pool_records import PoolRecordObject
from webhook.controllers.pools import fields, mapping, nudges, records
from webhook.runtime.controller import Controller, Watch

RECORDS: Final = Controller(
    "pools.records",
    PoolRecordObject,
    records.plan_record,
    (
        Watch(MachineDeployment, mapping.to_records_of_deployment),
        Watch(MachineSet, mapping.to_records),
        Watch(Machine, mapping.to_records),
    ),
    reads=(Cluster,),
    inputs=("backed_off",),
)

POOLS: Final = (
    Controller(
        "pools.fields",
        MachineDeployment,
        fields.plan_fields,
        (Watch(Worker, mapping.to_deployments), Watch(Cluster, mapping.to_deployments_of_cluster)),
        reads=(CustomResourceDefinition, PoolRecordObject),
    ),
    Controller(
        "pools.namespace",
        Namespace,
        fields.plan_namespace,
        (Watch(MachineDeployment, mapping.to_namespace),),
    ),
    RECORDS,
    Controller(
        "pools.nudges",
        MachineDeployment,
        nudges.plan_nudge,
        (
            Watch(MachineDeployment, mapping.to_deployments),
            Watch(MachineSet, mapping.to_deployments),
            Watch(Machine, mapping.to_deployments),
            Watch(PoolRecordObject, mapping.to_deployments_of_record),
        ),
    ),
)
