import type { TermCell, TrendRareVolume, TrendRareVolumes } from '../../schemas/trends/types.ts'
import type { Context, Topic } from '../engine/index.ts'
import { regionsOf } from './cells.ts'
import { MINUTE_MS } from './time.ts'

/** Maximum rows per record. With the longest terms these are 700 KB, less than what brokers accept. */
const MAX_ROWS = 1_000

/** Publishes the volumes of rare terms when they change, many in a record. A row has all regions of one minute. */
export function rareVolumes(topic: Topic<number, TrendRareVolumes>) {
  let rows: TrendRareVolume[] = []
  let month = 0

  /** @param changed the cells whose minutes have changed, out of all `cells` */
  function add(term: string, cells: readonly TermCell[], changed: readonly TermCell[], ctx: Context): void {
    if (cells.length === 1 && changed.length === 1 && changed[0].minutes.length === 1) {
      const [{ minutes, counts }] = cells
      const regions = regionsOf(cells[0])
      const count = counts[minutes.indexOf(changed[0].minutes[0])]
      push({ term, minute: changed[0].minutes[0] * MINUTE_MS, woeids: regions as number[], volumes: regions.map(() => count) }, ctx)
      return
    }
    for (const minute of new Set(changed.flatMap(({ minutes }) => minutes))) push(rowOf(term, cells, minute), ctx)
  }

  /** A record has rows of one month only, because tables are divided by months. */
  function push(row: TrendRareVolume, ctx: Context): void {
    const date = new Date(row.minute)
    const ofRow = date.getUTCFullYear() * 12 + date.getUTCMonth()
    if (ofRow !== month || rows.length === MAX_ROWS) send(ctx)
    month = ofRow
    rows.push(row)
  }

  function send(ctx: Context): void {
    if (rows.length === 0) return
    ctx.emit(topic, ctx.partition, { rows })
    rows = []
  }

  return { add, send }
}

function rowOf(term: string, cells: readonly TermCell[], minute: number): TrendRareVolume {
  const volumes = new Map<number, number>()
  for (const cell of cells) {
    const place = cell.minutes.indexOf(minute)
    if (place < 0) continue
    for (const woeid of regionsOf(cell)) volumes.set(woeid, (volumes.get(woeid) ?? 0) + cell.counts[place])
  }
  return { term, minute: minute * MINUTE_MS, woeids: [...volumes.keys()], volumes: [...volumes.values()] }
}
