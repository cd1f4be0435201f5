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
  function push(row: TrendRareVolume, ctx: Context, addsAs = ''): void {
    const date = new Date(row.minute)
    const ofRow = date.getUTCFullYear() * 12 + date.getUTCMonth()
    if (ofRow !== month || rows.length === MAX_ROWS) send(ctx, addsAs)
    month = ofRow
    rows.push(row)
  }

  function send(ctx: Context, addsAs = ''): void {
    if (rows.length === 0) return
    ctx.emit(topic, ctx.partition, { adds_as: addsAs, rows })
    rows = []
  }

  /**
   * Publishes counts of minutes that are no longer in a state, so that their volumes so far are not known.
   * @param id differs for each call, also after a restart
   */
  function sendAdded(added: AddedVolumes, id: string, ctx: Context): void {
    send(ctx)
    for (const row of added.rows()) push(row, ctx, id)
    send(ctx, id)
  }

  return { add, send, sendAdded }
}

/** Counts that a record adds to minutes. */
export function addedVolumes() {
  const byTermAndMinute = new Map<string, TrendRareVolume>()

  function add(term: string, woeid: number, minute: number, count: number): void {
    const key = `${minute}:${term}`
    const row = byTermAndMinute.get(key) ?? { term, minute: minute * MINUTE_MS, woeids: [], volumes: [] }
    byTermAndMinute.set(key, row)
    const place = row.woeids.indexOf(woeid)
    if (place >= 0) {
      row.volumes[place] += count
      return
    }
    row.woeids.push(woeid)
    row.volumes.push(count)
  }

  return { add, rows: () => byTermAndMinute.values() }
}

type AddedVolumes = ReturnType<typeof addedVolumes>

function rowOf(term: string, cells: readonly TermCell[], minute: number): TrendRareVolume {
  const volumes = new Map<number, number>()
  for (const cell of cells) {
    const place = cell.minutes.indexOf(minute)
    if (place < 0) continue
    for (const woeid of regionsOf(cell)) volumes.set(woeid, (volumes.get(woeid) ?? 0) + cell.counts[place])
  }
  return { term, minute: minute * MINUTE_MS, woeids: [...volumes.keys()], volumes: [...volumes.values()] }
}
