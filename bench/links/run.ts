/**
 * `npm run bench:links`: measures the time to create a link, and the parts of this time, at a fixed rate. Then it
 * measures redirects in a closed loop, alternating with two peers. One peer is nginx with the same links in its
 * configuration, as the upper bound. The other is a redirect service in Go on the same Redis. Redirects are also
 * measured while Kafka is slow, while Kafka is stopped, and while the click buffer is full. See run.command.ts.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../deploy/local/wait.ts'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { withStarted } from '../harness/folder.ts'
import { cpuSeconds, describeMachine } from '../harness/process-stats.ts'
import { median, quantile, row } from '../harness/table.ts'
import { whereInstalled } from '../peer-missing.ts'
import { applyLoad, type LoadResult, requireWrk } from '../trends-read/load.ts'
import { type Created, createAtRate } from './creates.ts'
import { type Peer, startGoPeer, startNginx } from './peers.ts'
import declaration from './run.command.ts'
import { type LinksApi, type LinksServers, startLinksServers } from './servers.ts'

const HOST = 'sho.rt'
const LINKS = 1_000
const BULK = 100
const WARM_UP_SECONDS = 5
/**
 * Duration of the warm-up before link creation is measured. In the first ten seconds of load, the broker's JVM compiles
 * most of the code that a command needs.
 */
const CREATE_WARM_UP_SECONDS = 15
const REDIRECT_SECONDS = 5
/**
 * Duration of a measurement in which all clicks stay in the buffer. In this time, two cores serve fewer than 100,000
 * redirects, so the clicks fit into the buffer.
 */
const BUFFERED_SECONDS = 2
/**
 * Delay of the messages between the API and Kafka in each direction, in ms. A click is therefore acknowledged only
 * after one second.
 */
const SLOW_MS = 500
const DRAINED = { what: 'an empty click buffer', timeoutMs: 60_000, intervalMs: 50 }
const SETTLE_MS = 1_000
const MS_PER_SECOND = 1_000
const MICROSECONDS = 1e6
/** Headers that browsers send. */
const BROWSER = {
  Host: HOST,
  'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  Referer: 'https://news.example/item?id=1',
}

const { rate, seconds, rounds, connections, ...values } = commandLine(declaration)

const say = (text: string) => process.stdout.write(`${text}\n`)

/** Reads Prometheus histograms. The difference between two readings gives a mean. */
async function histograms(url: string, names: readonly string[]): Promise<Map<string, readonly [sum: number, count: number]>> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const value = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].reduce((sum, [, found]) => sum + Number(found), 0)
  return new Map(names.map((name) => [name, [value(`${name}_sum`), value(`${name}_count`)]]))
}

const API_PARTS = ['command_acknowledged_seconds', 'command_answered_seconds']
const WORKER_PARTS = ['millrace_commit_seconds']

async function benchCreates(servers: LinksServers): Promise<void> {
  await createAtRate(servers.api.url, rate, CREATE_WARM_UP_SECONDS)
  await delay(SETTLE_MS)
  const readings = async () =>
    new Map([...(await histograms(servers.api.operationsUrl, API_PARTS)), ...(await histograms(servers.workerUrl, WORKER_PARTS))])
  const { pids } = servers
  const cpu = () => Object.entries(pids).map(([name, pid]) => [name, cpuSeconds(pid)] as const)
  const [before, cpuBefore] = [await readings(), cpu()]
  const created = await createAtRate(servers.api.url, rate, seconds)
  const [after, cpuAfter] = [await readings(), cpu()]
  const mean = (name: string) => {
    const [sum, count] = [0, 1].map((index) => after.get(name)![index] - before.get(name)![index])
    return `${((sum / count) * MS_PER_SECOND).toFixed(1)} ms (${count})`
  }
  say(`\n${rate} creates/s over ${seconds} s: ${statuses(created)}`)
  const spread = (times: readonly number[]) => {
    const sorted = times.toSorted((a, b) => a - b)
    const [p50, p90, p99, maximum] = [0.5, 0.9, 0.99, 1].map((share) => quantile(sorted, share).toFixed(1))
    return `P50 ${p50}, P90 ${p90}, P99 ${p99}, maximum ${maximum} ms`
  }
  const made = created.filter(({ status }) => status === 201)
  say(`whole request, from when it was due: ${spread(made.map(({ totalMs }) => totalMs))}`)
  say(`  sent → decided: ${spread(made.map(({ decidedMs }) => decidedMs))}`)
  say(`  decided → response: ${spread(made.map(({ totalMs, decidedMs }) => Math.max(0, totalMs - decidedMs)))}`)
  say(
    `means: command acknowledged by Kafka ${mean(API_PARTS[0])}, result available ${mean(API_PARTS[1])}, one commit ${mean(WORKER_PARTS[0])}`,
  )
  say(
    `CPU ms per create: ${cpuAfter.map(([name, used], index) => `${name} ${(((used - cpuBefore[index][1]) * MS_PER_SECOND) / created.length).toFixed(2)}`).join(', ')}`,
  )
}

function statuses(created: readonly Created[]): string {
  const counts = Map.groupBy(created, ({ status }) => status)
  return [...counts].map(([status, group]) => `${group.length} × ${status}`).join(', ')
}

async function makeLinks(servers: LinksServers): Promise<Map<string, string>> {
  const links = new Map<string, string>()
  for (let first = 0; first < LINKS; first += BULK) {
    const urls = Array.from({ length: BULK }, (_, index) => ({ long_url: `https://example.com/some/longer/path/${first + index}?q=1` }))
    const response = await fetch(`${servers.api.url}/api/v1/urls/bulk`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ urls }),
    })
    const { results } = (await response.json()) as { results: { short_code: string; long_url: string }[] }
    for (const { short_code, long_url } of results) links.set(short_code, long_url)
  }
  return links
}

interface Subject {
  readonly name: string
  readonly url: string
  /** The API; undefined for a peer. */
  readonly api?: LinksApi
  /** Duration of the measurement. Default REDIRECT_SECONDS. */
  readonly seconds?: number
  readonly before?: () => void | Promise<void>
  readonly after?: () => void
  /** True if this subject's buffered clicks should stay in the buffer for the next subject. */
  readonly leavesClicks?: boolean
}

/** The results of one subject in one round. */
interface Round {
  readonly load: LoadResult
  /** CPU time of the API per request, in µs; 0 for peers. */
  readonly cpuMicroseconds: number
  readonly dropped: number
}

async function clickMetric({ operationsUrl }: LinksApi, name: 'dropped_total' | 'waiting'): Promise<number> {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text()
  return Number(new RegExp(`^clicks_${name} (\\S+)$`, 'm').exec(text)![1])
}

async function benchRedirects(servers: LinksServers, folder: string): Promise<void> {
  const links = await makeLinks(servers)
  const paths = [...links.keys()].map((code) => `/${code}`)
  const peers: [string, Peer][] = []
  if (!values['no-peers']) {
    const nginx = await whereInstalled('nginx', () => startNginx(folder, HOST, links))
    if (nginx !== undefined) peers.push(['nginx, links in its configuration', nginx])
    const go = await whereInstalled('the redirect in Go', () => startGoPeer(folder, servers.redisUrl, HOST, links))
    if (go !== undefined) peers.push(['Go net/http with Redis', go])
  }
  const { api, slowApi } = servers
  const load = (url: string, duration: number) => applyLoad({ url, paths, headers: BROWSER, connections, seconds: duration, folder })
  const signal = (name: NodeJS.Signals) => void process.kill(servers.brokerPid, name)

  async function fillBuffer(): Promise<void> {
    const before = await clickMetric(api, 'dropped_total')
    while ((await clickMetric(api, 'dropped_total')) === before) await load(api.shortUrl, 1)
  }

  const subjects: Subject[] = [
    ...peers.map(([name, { url }]) => ({ name, url })),
    { name: 'Millrace', url: api.shortUrl, api },
    { name: `Millrace, Kafka slow (${SLOW_MS} ms each way)`, url: slowApi.shortUrl, api: slowApi },
    {
      name: `Millrace, Kafka stopped, clicks in the buffer (${BUFFERED_SECONDS} s)`,
      url: api.shortUrl,
      api,
      seconds: BUFFERED_SECONDS,
      before: () => signal('SIGSTOP'),
      leavesClicks: true,
    },
    { name: 'Millrace, Kafka stopped, buffer full', url: api.shortUrl, api, before: fillBuffer, after: () => signal('SIGCONT') },
  ]
  const results = new Map<Subject, Round[]>(subjects.map((subject) => [subject, []]))

  async function oneRound({ url, api, seconds = REDIRECT_SECONDS, before, after, leavesClicks }: Subject): Promise<Round> {
    await before?.()
    const cpu = () => (api === undefined ? 0 : cpuSeconds(api.pid))
    const drops = async () => (api === undefined ? 0 : await clickMetric(api, 'dropped_total'))
    const [cpuBefore, dropsBefore] = [cpu(), await drops()]
    const result = await load(url, seconds)
    const round = {
      load: result,
      cpuMicroseconds: ((cpu() - cpuBefore) * MICROSECONDS) / result.requests,
      dropped: (await drops()) - dropsBefore,
    }
    after?.()
    if (api !== undefined && !leavesClicks) await waitUntil(async () => (await clickMetric(api, 'waiting')) === 0, DRAINED)
    await delay(SETTLE_MS)
    return round
  }

  try {
    servers.slowDown(SLOW_MS)
    for (const url of new Set(subjects.map((subject) => subject.url))) await load(url, WARM_UP_SECONDS)
    await delay(SETTLE_MS)
    for (let round = 0; round < rounds; round++) for (const subject of subjects) results.get(subject)!.push(await oneRound(subject))
  } finally {
    for (const [, peer] of peers) await peer.stop()
  }
  say(
    `\nRedirects of ${LINKS} links over ${connections} connections. The rows took turns in ${rounds} rounds, for ${REDIRECT_SECONDS} s each unless a row names another time. Rates, times and CPU times are medians; failures and clicks are sums.`,
  )
  say('| redirects | requests/s | P50 ms | P99 ms | P99.9 ms | CPU µs/request | failed | clicks dropped |')
  say('| --- | --: | --: | --: | --: | --: | --: | --: |')
  for (const [subject, found] of results) say(resultRow(subject, found))
}

function resultRow({ name, api }: Subject, found: readonly Round[]): string {
  const middle = (of: (round: Round) => number) => median(found.map(of))
  const sum = (of: (round: Round) => number) => found.reduce((total, round) => total + of(round), 0)
  const perSecond = middle(({ load }) => (load.requests * MS_PER_SECOND) / load.durationMs)
  const times = [middle(({ load }) => load.p50Ms), middle(({ load }) => load.p99Ms), middle(({ load }) => load.p999Ms)].map((ms) =>
    ms.toFixed(1),
  )
  const failed = sum(({ load }) => load.failed)
  const cpu = api === undefined ? '' : middle(({ cpuMicroseconds }) => cpuMicroseconds).toFixed(0)
  const dropped = api === undefined ? '' : `${sum(({ dropped }) => dropped)} of ${sum(({ load }) => load.requests)}`
  return row([name, Math.round(perSecond), ...times, cpu, failed, dropped])
}

async function main(): Promise<void> {
  say(describeMachine())
  const start = (folder: string) => startLinksServers(folder, HOST)
  await withStarted(start, async (servers, folder) => {
    try {
      if (values.only !== 'redirects') await benchCreates(servers)
      if (values.only !== 'creates' && (await whereInstalled('the load on redirects', requireWrk)) !== undefined)
        await benchRedirects(servers, folder)
    } finally {
      process.kill(servers.brokerPid, 'SIGCONT')
    }
  })
}

await runMain(main)
