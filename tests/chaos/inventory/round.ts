import { integer, seededRandom } from '../../../tools/random/random.ts'
import type { InventorySystem } from '../../api/catalog/inventory-system.ts'
import { differences, type Judged, judgeUntilRight } from '../judge.ts'
import { keepLines, numbered } from '../keep-logs.ts'
import { recover } from '../recover.ts'
import { type Callers, PRODUCTS, startCallers, VARIANTS_PER_PRODUCT } from './callers.ts'
import { inflict } from './faults.ts'
import { httpShop } from './http-shop.ts'
import type { StockLog } from './log.ts'
import { observer, shownRow, type TableRow } from './observe.ts'
import { APIS, type Plan } from './plan.ts'
import { judgeStock, type Outage } from './verdict.ts'

const LONGEST_REPEAT_MS = 8_000
/**
 * Kinds of movements that the log must contain. Without this check, a round in which all requests were refused would
 * pass.
 */
const NEEDED = ['RECEIVE', 'RESERVE', 'DEDUCT'] as const

export interface Evidence {
  readonly log: StockLog
  readonly tableRows: readonly TableRow[]
  /** The stock of each variant, as returned by GET. */
  readonly shown: readonly string[]
  readonly outages: readonly Outage[]
  readonly otherAnswers: readonly string[]
}

export interface RoundResult extends Judged<Evidence> {
  readonly summary: string
}

/**
 * Runs one round on the stock that earlier rounds left. When all requests have ended, repeats them. Then judges the
 * repeated answers, the whole log, the table, and the stock that the API shows.
 * @param earlier the outages of the earlier rounds, which also affected records in the log
 */
export async function playRound(
  system: InventorySystem,
  plan: Plan,
  earlier: readonly Outage[],
  say: (text: string) => void,
): Promise<RoundResult> {
  const { apis, worker, token } = system
  const random = seededRandom(plan.seed)
  const choose = () => apis[integer(random, APIS)]
  const options = { name: `round-${plan.seed}`, callers: plan.callers, actions: plan.actions, longestRepeatMs: LONGEST_REPEAT_MS }
  const from = Date.now()
  const callers = startCallers(httpShop(choose, token), random, options)
  await inflict(system, plan.faults, say)
  await recover(apis, [worker])
  const outages = [...earlier, { from, to: Date.now() }]
  await callers.done
  const otherAnswers = await callers.repeatAll()
  const observed = await observer(system)
  try {
    const evidence = async (): Promise<Evidence> => {
      const [log, tableRows, shown] = await Promise.all([observed.log(), observed.tableRows(), shownStock(system)])
      return { log, tableRows, shown, outages, otherAnswers }
    }
    const judged = await judgeUntilRight(evidence, faultsOf)
    return { ...judged, summary: summaryOf(callers, judged.evidence) }
  } finally {
    await observed.close()
  }
}

function faultsOf({ log, tableRows, shown, outages, otherAnswers }: Evidence): string[] {
  const { faults, models, open } = judgeStock(log, outages)
  const movements = log.inventoryChanged.map(({ value, offset, partition }) => `${partition} ${offset} ${shownRow({ ...value })}`)
  const kinds = new Set(log.inventoryChanged.map(({ value }) => value.kind))
  const rows = models
    .flatMap((model) => model.rows)
    .map(({ variant_id, warehouse_id, available, reserved, version }) => [variant_id, warehouse_id, available, reserved, version].join(' '))
  return [
    ...otherAnswers,
    ...faults,
    ...(open > 0 ? [`${open} reservations are still open`] : []),
    ...NEEDED.filter((kind) => !kinds.has(kind)).map((kind) => `no movement of the kind ${kind} has happened`),
    ...differences(
      'stock_movements',
      movements,
      tableRows.map((row) => `${row.partition} ${row.offset} ${row.shown}`),
    ),
    ...differences('GET', rows.toSorted(), shown.toSorted()),
  ]
}

/** Returns the stock of each variant and warehouse as the API shows it. */
async function shownStock({ apis: [api], token }: InventorySystem): Promise<string[]> {
  const shown: string[] = []
  for (const product of PRODUCTS)
    for (let variant = 1; variant <= VARIANTS_PER_PRODUCT; variant++) {
      const variantId = product * 256 + variant
      const answer = await fetch(`${api.url}/api/v1/inventory/${variantId}`, { headers: { authorization: `Bearer ${token}` } })
      const { warehouses = [] } = (await answer.json()) as {
        warehouses?: { warehouse_id: string; available: number; reserved: number; version: number }[]
      }
      for (const { warehouse_id, available, reserved, version } of warehouses)
        shown.push([variantId, warehouse_id, available, reserved, version].join(' '))
    }
  return shown
}

function summaryOf({ requests }: Callers, { log }: Evidence): string {
  const kinds = Map.groupBy(log.inventoryChanged, ({ value }) => value.kind)
  const counts = [...kinds].map(([kind, { length }]) => `${kind}: ${length}`).toSorted()
  return `${requests.length} requests, movements ${counts.join(', ')}, ${log.reservationOutcomes.length} outcomes of carts`
}

/**
 * Copies the logs of the servers, and the logs and status reports of the worker and the APIs, to the target folder.
 * @returns the target
 */
export function keepInventoryLogs({ folder, worker, apis }: InventorySystem, target: string): Promise<string> {
  return keepLines(folder.path, { worker, ...numbered('api', apis) }, target)
}
