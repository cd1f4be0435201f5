import { trendOutput, trendRareVolumes, trendRenewals, trendVolumes } from '../../schemas/trends/topics.ts'
import { avro, decimalId, decimalInt, encodedBody, keyedStore, packedStore, topology, utf8 } from '../engine/index.ts'
import { userContributions } from './cap.ts'
import { rareTerm } from './rare-terms.ts'
import { regionLists } from './region-lists.ts'
import { regionReport } from './region-report.ts'
import { termCells } from './term-cells.ts'
import { termWindows } from './term-windows.ts'
import { CLOSE_WITHOUT, RENEWAL_MS } from './time.ts'
import { tweetsAsBytes } from './tweet-bytes.ts'
import { tweetCounts } from './tweet-counts.ts'

/**
 * Partition counts of the topics that are partitioned by term. docs/operations.md derives the number for production.
 */
const TERM_PARTITIONS = { partitions: 4, productionPartitions: 32 }
const REGION_PARTITIONS = { partitions: 4, productionPartitions: 8 }

/**
 * How long contributions are combined before a commit. A popular term is then sent only once per interval, and counts
 * are delayed by up to this time.
 */
const COMMIT_INTERVAL_MS = 1_000
/** Delay of the time markers. Tweets that were sent before a renewal arrive within this time. */
const ARRIVAL_DELAY_MS = 2_000
/**
 * Memory for the cached rows of users and of baselines, per partition. It is small, because these rows are seldom used
 * again within seconds.
 */
const SELDOM_CACHE_BYTES = 1_048_576
/** Interval of the sweep for silent users. */
const FORGET_EVERY_MS = 60_000

/** Only this topology writes its repartition topics, so a bad record in them is a bug. */
const INTERNAL = { onError: { decode: 'fail', reject: 'fail' } } as const

const encodedOutput = { ...trendOutput, value: encodedBody(trendOutput.value) }
const encodedRenewals = { ...trendRenewals, value: encodedBody(trendRenewals.value) }
const encodedRareVolumes = { ...trendRareVolumes, value: encodedBody(trendRareVolumes.value) }

/** Tweets → contributions per user → windows per term and region → ranked lists per region. */
export const trends = topology(
  'trends',
  function declareTrends(t) {
    const cells = t.repartition('drawn-cells', { key: decimalInt, value: termCells, ...TERM_PARTITIONS })
    const tracked = t.repartition('listed', { key: utf8, value: avro('trends/TermTracked'), ...TERM_PARTITIONS })
    const reports = t.repartition('reports', { key: decimalInt, value: regionReport, ...REGION_PARTITIONS })

    const users = packedStore('user-terms', { key: decimalId, value: userContributions, cacheBytes: SELDOM_CACHE_BYTES })
    const tweet = tweetCounts({ users, cells })
    // Users are identified by the tweet's user_id and not by the key, so the key is optional. If a producer sets no
    // key, the cap per user applies to each partition separately.
    t.source(tweetsAsBytes, { keys: 'optional', onError: { process: 'dead-letter', produce: 'dead-letter' } })
      .process('count-tweet', { stores: [users], reads: ({ user_id }) => users.prefetch(user_id) }, tweet.count)
      .tick('forget-users', { everyMs: FORGET_EVERY_MS, clock: 'wall', stores: [users] }, (_now, ctx) => tweet.forget(ctx))
      .beforeCommit('send-cells', { emits: [cells] }, tweet.send)
      .markTime({ everyMs: RENEWAL_MS, delayMs: ARRIVAL_DELAY_MS, to: cells })

    const rare = packedStore('rare-tweets', { key: utf8, value: rareTerm })
    const frequent = packedStore('frequent-states', { key: utf8, value: avro('trends/TermState') })
    const baselines = packedStore('usual', { key: utf8, value: avro('trends/TermBaseline'), cacheBytes: SELDOM_CACHE_BYTES })
    const volumesRound = keyedStore('volumes-round', { key: utf8, value: avro('trends/VolumesRound') })
    // Rows are not cached, because they are large and are read only after a start.
    const standings = keyedStore('standings', { key: utf8, value: avro('trends/SavedStandings'), cacheBytes: 0 })
    const topics = { reports, volumes: trendVolumes, rareVolumes: encodedRareVolumes }
    const term = termWindows({ rare, frequent, baselines, volumesRound, standings, ...topics })
    const stores = [rare, frequent, baselines, volumesRound, standings]
    // Each of the following steps may count the waiting cells, and therefore send volumes to these topics.
    // Contributions that are too late for a state go to the second topic.
    const volumes = [trendVolumes, encodedRareVolumes]
    t.source(cells, INTERNAL)
      .process('count-terms', { stores, reads: term.prefetchCells, emits: volumes }, term.count)
      .beforeCommit('count-frequent', { stores, emits: volumes }, term.beforeCommit)
      .onTime(
        'report-candidates',
        { stores, emits: [reports, ...volumes], forwardTo: reports, thinBehindMs: RENEWAL_MS, closeWithout: CLOSE_WITHOUT },
        term.report,
      )
    t.source(tracked, INTERNAL).process('track-term', { stores, reads: term.prefetchTracked, emits: volumes }, term.track)

    // Reports are kept in memory, so rows of the store are read only after a start. The store is a keyed store, because
    // a keyed store writes the reports from memory and needs no copies of their bytes.
    const arrived = keyedStore('reports', { key: utf8, value: regionReport, cacheBytes: 0 })
    const history = keyedStore('history', { key: decimalInt, value: avro('trends/RegionHistory') })
    const since = keyedStore('since', { key: decimalInt, value: avro('trends/TrendingSince') })
    const lists = regionLists({ arrived, history, since, tracked, snapshots: encodedOutput, renewals: encodedRenewals })
    t.source(reports, INTERNAL)
      .process('take-reports', { stores: [arrived] }, lists.arrive)
      .onTime(
        'publish-lists',
        { stores: [arrived, history, since], emits: [encodedOutput, encodedRenewals, tracked], closeWithout: CLOSE_WITHOUT },
        lists.publish,
      )
  },
  { commitIntervalMs: COMMIT_INTERVAL_MS, commitWhenIdle: false },
)
