import { setTimeout as delay } from 'node:timers/promises'
import type { InventorySystem } from '../../api/catalog/inventory-system.ts'
import * as hurt from '../hurt.ts'
import { stopped } from '../hurt.ts'
import { inflictInTurn, type PlannedFault } from '../in-turn.ts'
import type { InventoryFaultKind } from './plan.ts'

type Fault = PlannedFault<InventoryFaultKind>

/** Applies the faults of a round. After each fault, the affected part is running again, but may not be ready yet. */
export async function inflict(system: InventorySystem, faults: readonly Fault[], say: (text: string) => void): Promise<void> {
  const { kafka, redis, worker, apis } = system

  async function suffer({ kind, api, holdMs }: Fault): Promise<void> {
    const hold = () => delay(holdMs)
    switch (kind) {
      case 'api-killed':
        return hurt.killApi(system, api, holdMs, () => undefined)
      case 'api-stopped':
        return stopped(apis[api].child.pid, hold)
      case 'worker-killed':
        return hurt.restarted(worker, hold)
      case 'worker-stopped':
        return stopped(worker.child.pid, hold)
      case 'redis-killed':
        return hurt.restarted(redis, hold)
      case 'redis-stopped':
        return stopped(redis.pid, hold)
      case 'redis-emptied':
        return hurt.emptyRedis(redis.address)
      case 'kafka-killed':
        return hurt.restarted(kafka, hold)
      case 'kafka-stopped':
        return stopped(kafka.pid, hold)
    }
  }

  const partsOf = ({ kind, api }: Fault): string[] => {
    const [part] = kind.split('-')
    return [part === 'api' ? `api ${api}` : part]
  }
  await inflictInTurn(faults, { partsOf, suffer, say })
}
