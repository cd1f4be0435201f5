import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '@clickhouse/client'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import type { Component } from '../../deploy/local/component.ts'
import { supervisor } from '../../deploy/local/supervisor.ts'
import { waitUntil } from '../../deploy/local/wait.ts'
import { regions } from '../../schemas/trends/places/regions.ts'
import { termKey } from '../../schemas/trends/term.ts'
import type { Random } from '../../tools/random/random.ts'
import { flushTestRedis } from '../stack/flush-redis.ts'
import { suspend } from '../stack/suspend.ts'
import { earlierLists } from './earlier-lists.ts'
import { expectedLists } from './expected.ts'
import { type LiveEvent, liveTweets } from './live-tweets.ts'
import { type LoggedTweet, logReader, type PublishedList } from './log.ts'
import type { Past } from './past.ts'
import { type System, untilReady } from './system.ts'
import { get, type ListBody, listOf } from './trends-api.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
/** How long to wait for new lists: two list renewals, a restart, and a margin for a busy machine. */
const RECOVERY_TIMEOUT_MS = 180_000
const SINK_TIMEOUT_MS = 60_000
/** How long to wait for a 503 after Redis was emptied. The API still answers from its cache for one second. */
const REFUSAL_TIMEOUT_MS = 15_000
const LOOK_EVERY_MS = 200
/** Pause between reads of the topics. Each read starts a Python process. */
const READ_EVERY_MS = 1_000
const SNAPSHOT_RANKS = 100
const MAX_SHOWN = 10
const WORLD = 1
/** Minimum number of trends of each kind in the lists of a window; see `expectLabels`. */
const LEAST_LABELS = 3

/** A running system whose parts are killed while tweets arrive. */
export interface Ordeal {
  /** Kills the part with -9. As in `npm start`, the supervisor restarts it. Resolves when the part is ready again. */
  kill(victim: Component): Promise<void>
  /**
   * Waits until every region has a list for one common window that ends after the call. With `wholeMinute`, the window
   * must end on a whole minute. Resolves with the end of that window.
   */
  nextWindow(options?: { readonly wholeMinute?: boolean }): Promise<number>
  /** Stops sending tweets. Resolves when all sent tweets are acknowledged. */
  endInput(): Promise<void>
  /** Reads the lists that were published since the last call, and checks them. */
  checkPublished(): Promise<void>
  /**
   * Checks that, for windows with a list for every region, ClickHouse contains exactly the published snapshots, with
   * one row per region, window and rank up to 100.
   */
  checkTable(): Promise<void>
  /**
   * Returns true if every tweet of the window was acknowledged before the window was due. In that case, the published
   * counts must equal those of an offline computation.
   */
  isExact(windowEnd: number): boolean
  /** Returns how many trends of a window have each label, over all regions. Only checked lists are counted. */
  labels(windowEnd: number): LabelCounts
  /** Checks that all APIs serve the same lists. */
  checkAgreement(): Promise<void>
  /**
   * Empties Redis while the workers are suspended. Checks that readers get an error, and later the same or newer lists.
   */
  flushRedis(): Promise<void>
  finish(): Promise<void>
}

/** Numbers of trends by label, separately for terms with and without a baseline in the past. */
export interface LabelCounts {
  /** Trends of terms for which the past contains a baseline. */
  readonly known: Record<Label, number>
  /** All other trends. */
  readonly fresh: Record<Label, number>
}

type Label = 'Trending' | 'Viral' | 'none'

/** @param past what was written to the changelogs before the first worker started */
export function ordeal(system: System, say: (text: string) => void, nextEvent: () => LiveEvent, past: Past): Ordeal {
  const watch = supervisor(say)
  for (const part of [system.kafka, system.redis, system.clickhouse, system.registry, ...system.workers, ...system.apis])
    watch.keepRunning(part)
  const live = liveTweets(system, nextEvent)
  const reader = logReader(system)
  const log: LoggedTweet[] = []
  const earlier = earlierLists(past)
  let expected = expectedLists([])
  const labelCounts = new Map<number, LabelCounts>()
  /** The regions with a list, by window. */
  const regionsOf = new Map<number, Set<number>>()
  const unchecked: PublishedList[] = []
  /** The rows that the table must have, for each window that ends on a whole minute and has not been checked yet. */
  const rowsOf = new Map<number, Set<string>>()
  let rowsFound = 0
  const answers = watchAnswers(system)

  async function kill(victim: Component): Promise<void> {
    const before = victim.pid
    const isBack = () => victim.pid !== undefined && victim.pid !== before && victim.isHealthy()
    await answers.without(victim, async () => {
      process.kill(before as number, 'SIGKILL')
      await waitUntil(isBack, { what: `${victim.name} again`, timeoutMs: RECOVERY_TIMEOUT_MS, intervalMs: LOOK_EVERY_MS })
    })
  }

  async function checkAgreement(): Promise<void> {
    for (const woeid of expected.woeids) {
      let lists: ListBody[] = []
      const isOfOneWindow = async () => {
        lists = await Promise.all(system.apis.map((api) => listOf(api, woeid)))
        return new Set(lists.map(({ as_of }) => as_of)).size === 1
      }
      await waitUntil(isOfOneWindow, {
        what: `lists for ${woeid} with the same window on all APIs`,
        timeoutMs: RECOVERY_TIMEOUT_MS,
        intervalMs: LOOK_EVERY_MS,
      })
      for (const list of lists) expect(list).toEqual(lists[0])
    }
  }

  async function nextWindow({ wholeMinute = false } = {}): Promise<number> {
    const after = Date.now()
    let windowEnd = 0
    await waitUntil(
      async () => {
        windowEnd = Date.parse((await listOf(system.apis[0], WORLD)).as_of)
        return windowEnd > after && (!wholeMinute || windowEnd % MINUTE_MS === 0)
      },
      { what: `a window after ${new Date(after).toISOString()}`, timeoutMs: RECOVERY_TIMEOUT_MS, intervalMs: LOOK_EVERY_MS },
    )
    // At least one partition has published this window, but others may be slightly behind.
    await waitUntil(async () => (await readPublished(windowEnd)) === regions.length, {
      what: `all regions at ${new Date(windowEnd).toISOString()}`,
      timeoutMs: RECOVERY_TIMEOUT_MS,
      intervalMs: READ_EVERY_MS,
    })
    return windowEnd
  }

  /** @returns the number of lists of that window that have been read so far */
  async function readPublished(windowEnd: number): Promise<number> {
    for (const list of await reader.lists()) {
      const { woeid, window_end, entries } = list
      const woeids = regionsOf.get(window_end) ?? new Set()
      regionsOf.set(window_end, woeids)
      expect(woeids.has(woeid), `a second list of ${woeid} at ${new Date(window_end).toISOString()}`).toBe(false)
      woeids.add(woeid)
      unchecked.push(list)
      if (window_end % MINUTE_MS !== 0) continue
      const rows = rowsOf.get(window_end) ?? new Set()
      rowsOf.set(window_end, rows)
      entries.slice(0, SNAPSHOT_RANKS).forEach(({ term, tweet_volume }, index) => {
        rows.add(`${woeid} ${index + 1} ${term} ${tweet_volume}`)
      })
    }
    return regionsOf.get(windowEnd)?.size ?? 0
  }

  async function checkPublished(): Promise<void> {
    await readPublished(0)
    // Reads the lists first and then the tweets, so that the tweets include every tweet that the lists may count.
    log.push(...(await reader.tweets()))
    expected = expectedLists(live.known(log), undefined, earlier)
    const newest = Math.max(...regionsOf.keys())
    for (const [windowEnd, { size }] of regionsOf) {
      if (windowEnd < newest) expect(size, `regions at ${new Date(windowEnd).toISOString()}`).toBe(regions.length)
    }
    const checked = unchecked.splice(0).toSorted((a, b) => a.window_end - b.window_end)
    for (const list of checked) countLabels(list)
    expect(checked.flatMap(expected.faults).slice(0, MAX_SHOWN)).toEqual([])
    say(`${checked.length} more lists are correct; ${regionsOf.size} windows and ${log.length} tweets so far`)
  }

  function countLabels({ woeid, window_end, entries }: PublishedList): void {
    const counts = labelCounts.get(window_end) ?? { known: noLabels(), fresh: noLabels() }
    labelCounts.set(window_end, counts)
    for (const { term, label } of entries)
      counts[past.baselines.has(termKey(woeid, term)) ? 'known' : 'fresh'][(label ?? 'none') as Label]++
  }

  async function checkTable(): Promise<void> {
    const client = createClient({ url: system.clickhouse.address })
    async function ask(query: string): Promise<unknown[][]> {
      return (await client.query({ query, format: 'JSONCompactEachRow' })).json<unknown[]>()
    }
    try {
      for (const [windowEnd, wanted] of rowsOf) {
        // Skips windows that are not complete, because lists for more regions may still arrive.
        if (regionsOf.get(windowEnd)?.size !== regions.length) continue
        const at = `window_end = toDateTime(${windowEnd / SECOND_MS}) AND term != ''`
        const count = async () => Number((await ask(`SELECT count() FROM trend_snapshots WHERE ${at}`))[0][0])
        await waitUntil(async () => (await count()) >= wanted.size, { what: 'all rows', timeoutMs: SINK_TIMEOUT_MS })
        const rows = await ask(`SELECT woeid, rank, term, toString(tweet_volume) FROM trend_snapshots WHERE ${at}`)
        expect(new Set(rows.map((row) => row.join(' '))).symmetricDifference(wanted).size).toBe(0)
        rowsFound += wanted.size
        rowsOf.delete(windowEnd)
      }
      const windows = [...regionsOf].filter(([windowEnd, { size }]) => windowEnd % MINUTE_MS === 0 && size === regions.length)
      const complete = `window_end IN (${windows.map(([windowEnd]) => windowEnd / SECOND_MS).join()}) AND term != ''`
      expect(rowsFound).toBeGreaterThan(0)
      // This holds even before ClickHouse merges rows, because no row is ever written twice.
      const counts = `count(), uniqExact(woeid, window_end, rank)`
      for (const table of ['trend_snapshots', 'trend_snapshots FINAL'])
        expect((await ask(`SELECT ${counts} FROM ${table} WHERE ${complete}`))[0].map(Number)).toEqual([rowsFound, rowsFound])
    } finally {
      await client.close()
    }
  }

  async function flushRedis(): Promise<void> {
    const counted = expected.woeids
    const before = new Map<number, ListBody>()
    for (const woeid of counted) before.set(woeid, await listOf(system.apis[0], woeid))
    const redis = new Redis(system.redis.address)
    const read = (woeid: number) => get(system.apis[0], `/v1/trends?woeid=${woeid}`)
    try {
      // Suspends the workers during this check, because on a fast machine they would refill Redis before the first
      // read.
      await whileFrozen(system.workers, async () => {
        await flushTestRedis(redis)
        for (const woeid of counted) {
          // The API may still answer from its cache for a second.
          const isRefused = async () => (await read(woeid)).status === 503
          await waitUntil(isRefused, { what: `a refusal for ${woeid}`, timeoutMs: REFUSAL_TIMEOUT_MS })
        }
      })
      for (const woeid of counted) {
        await waitUntil(async () => (await read(woeid)).status !== 503, { what: `a list for ${woeid}`, timeoutMs: RECOVERY_TIMEOUT_MS })
        const list = await listOf(system.apis[0], woeid)
        const known = before.get(woeid) as ListBody
        expect(list.as_of >= known.as_of, `the list of ${woeid} went back from ${known.as_of} to ${list.as_of}`).toBe(true)
        if (list.as_of === known.as_of) expect(list).toEqual(known)
      }
    } finally {
      redis.disconnect()
    }
  }

  return {
    kill,
    nextWindow,
    endInput: () => live.stop(),
    checkPublished,
    checkTable,
    isExact: (windowEnd) => expected.isExact(windowEnd),
    labels: (windowEnd) => labelCounts.get(windowEnd) ?? { known: noLabels(), fresh: noLabels() },
    checkAgreement,
    flushRedis,
    async finish() {
      answers.stop()
      watch.release()
      await system.finish()
      expect(answers.wrong()).toEqual([])
    },
  }
}

function noLabels(): Record<Label, number> {
  return { Trending: 0, Viral: 0, none: 0 }
}

/** Asserts that the checked lists contain enough trends of each kind, so that the checks of labels are meaningful. */
export function expectLabels({ known, fresh }: LabelCounts): void {
  for (const label of ['Trending', 'Viral', 'none'] as const) expect(known[label], label).toBeGreaterThanOrEqual(LEAST_LABELS)
  expect(fresh.none, 'terms without baseline').toBeGreaterThanOrEqual(LEAST_LABELS)
}

/** Stops a worker gracefully, as in a rolling deployment. Resolves when the worker is restarted and ready. */
export async function leaveAndComeBack(worker: Component): Promise<void> {
  const before = worker.pid
  process.kill(before as number, 'SIGTERM')
  await waitUntil(() => worker.pid !== undefined && worker.pid !== before, {
    what: `${worker.name} again`,
    timeoutMs: RECOVERY_TIMEOUT_MS,
    intervalMs: LOOK_EVERY_MS,
  })
  await untilReady(worker)
}

interface AnswerWatch {
  stop(): void
  wrong(): readonly string[]
  /** Runs `action`, which kills the part. If the part is an API, missing responses are accepted while `action` runs. */
  without(victim: Component, action: () => Promise<void>): Promise<void>
}

/**
 * Polls all APIs as readers do. An API may respond with 503, but with no other error, and never with an empty list
 * after the first trends.
 */
function watchAnswers({ apis }: System): AnswerWatch {
  const wrong: string[] = []
  const excused = new Set<Component>()
  let stopped = false
  /**
   * End of the first window with trends. When one API serves the list of this window, another API may still serve the
   * previous, empty list.
   */
  let trendsSince = Number.POSITIVE_INFINITY

  async function ask(api: Component): Promise<void> {
    while (!stopped) {
      const wasExcused = excused.has(api)
      const answer = await get(api, `/v1/trends?woeid=${WORLD}`).catch((error: Error) => ({ status: 0, text: error.message }))
      if (stopped) return
      const isEmptied = answer.status === 200 && isEmptyAfter(JSON.parse(answer.text) as ListBody)
      const mayBeSilent = answer.status === 0 && (wasExcused || excused.has(api))
      if (!mayBeSilent && answer.status !== 503 && (answer.status !== 200 || isEmptied)) wrong.push(`${answer.status} ${answer.text}`)
      await delay(LOOK_EVERY_MS)
    }
  }

  function isEmptyAfter({ as_of, trends }: ListBody): boolean {
    const windowEnd = Date.parse(as_of)
    if (trends.length > 0) trendsSince = Math.min(trendsSince, windowEnd)
    return trends.length === 0 && windowEnd > trendsSince
  }

  for (const api of apis) void ask(api)
  return {
    stop: () => {
      stopped = true
    },
    wrong: () => wrong.slice(0, MAX_SHOWN),
    async without(victim, action) {
      excused.add(victim)
      try {
        await action()
      } finally {
        excused.delete(victim)
      }
    },
  }
}

/** Suspends the processes while `action` runs. `action` must take much less time than the group's session timeout. */
async function whileFrozen(components: readonly Component[], action: () => Promise<void>): Promise<void> {
  const pids = components.map(({ pid }) => pid as number)
  await Promise.all(pids.map(suspend))
  try {
    await action()
  } finally {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  }
}

/** Waits for a random time of less than `withinMs`. */
export function randomMoment(random: Random, withinMs: number): Promise<void> {
  return delay(Math.floor(random() * withinMs))
}
