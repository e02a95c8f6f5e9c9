"""The rows of worker pools in the table of controllers."""

from typing import Final

from webhook.api.core import CustomResourceDefinition, Namespace
from webhook.api.extensions import Cluster, Worker
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.poolobjects import PoolObject
from webhook.controllers.pools import care, fields, mapping, nudges
from webhook.runtime.rows import Controller, Watch

RECORDS: Final = Controller(
    "pools.records",
    PoolObject,
    care.plan_record,
    (
        Watch(MachineDeployment, mapping.its_records),
        Watch(MachineSet, mapping.its_records),
        Watch(Machine, mapping.its_records),
    ),
    reads=(Cluster,),
)
"""Fed by `pools.shoots`, where the kubeconfigs of shoots are given."""

POOLS: Final = (
    Controller(
        "pools.fields",
        MachineDeployment,
        fields.plan_fields,
        (Watch(Worker, mapping.its_deployments), Watch(Cluster, mapping.named_deployments)),
        reads=(CustomResourceDefinition, PoolObject),
    ),
    Controller(
        "pools.namespace",
        Namespace,
        fields.plan_namespace,
        (Watch(MachineDeployment, mapping.its_namespace),),
    ),
    RECORDS,
    Controller(
        "pools.nudges",
        MachineDeployment,
        nudges.plan_nudge,
        (
            Watch(MachineDeployment, mapping.its_deployments),
            Watch(MachineSet, mapping.its_deployments),
            Watch(Machine, mapping.its_deployments),
            Watch(PoolObject, mapping.pools_of_record),
        ),
    ),
)
