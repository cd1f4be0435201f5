import type { TrendRareVolume, TrendRareVolumes } from '../../schemas/trends/types.ts'
import type { Context, Topic } from '../engine/index.ts'
import type { CellCounts } from './packed-cells.ts'
import { regionsOf } from './regions-of.ts'
import { MINUTE_MS } from './time.ts'

/**
 * Maximum number of rows per record. With the longest terms, this many rows take 700 KB, less than what brokers accept.
 */
const MAX_ROWS = 1_000

/**
 * Publishes the volumes of rare terms when they change, with many rows in a record. A row contains the counts of all
 * regions in one minute.
 */
export function rareVolumes(topic: Topic<number, TrendRareVolumes>) {
  let rows: TrendRareVolume[] = []
  let month = 0

  /** Adds the rows of a term's changed minutes. @param changed the counts whose minutes have changed, out of `all` */
  function add(term: string, all: CellCounts, changed: CellCounts, ctx: Context): void {
    for (let i = 0; i < changed.length; i++) {
      const minute = changed.minutes[i]
      if (changed.minutes.indexOf(minute) === i) push(rowOf(term, all, minute), ctx)
    }
  }

  /** A record contains only rows of one month, because tables are partitioned by month. */
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
   * Publishes counts of minutes that are no longer in a state. The earlier volumes of these minutes are unknown, so the
   * counts are added to them.
   *   @param id differs for each call, even after a restart
   */
  function sendAdded(added: AddedVolumes, id: string, ctx: Context): void {
    send(ctx)
    for (const row of added.rows()) push(row, ctx, id)
    send(ctx, id)
  }

  return { add, send, sendAdded }
}

/** Collects the counts that a record adds to minutes. */
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

function rowOf(term: string, { length, places, minutes, counts }: CellCounts, minute: number): TrendRareVolume {
  const woeids: number[] = []
  const volumes: number[] = []
  for (let i = 0; i < length; i++) {
    if (minutes[i] !== minute) continue
    for (const woeid of regionsOf(places[i])) {
      const place = woeids.indexOf(woeid)
      if (place >= 0) {
        volumes[place] += counts[i]
        continue
      }
      woeids.push(woeid)
      volumes.push(counts[i])
    }
  }
  return { term, minute: minute * MINUTE_MS, woeids, volumes }
}
