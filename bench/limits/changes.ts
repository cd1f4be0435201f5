import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { inheritedEnv } from '../../deploy/local/config.ts'
import { type NodeProcess, ROOT, startApiProcess, startWorkerProcess, untilReady } from '../harness/node-process.ts'
import { startServers, WITHOUT_CLICKHOUSE } from '../harness/servers.ts'

const run = promisify(execFile)
const NODES = 3
const CHANGES = 40
const FORCE_TIMEOUT_MS = 30_000
/** Interval at which the benchmark polls each API process. */
const LOOK_EVERY_MS = 2
const WATCHED = '/api/v1/watched'
const RULE = '/api/v1/rate-limits/rules/watched'
/**
 * Limit of the rule before the first change. No client reaches this limit. Each change adds one to the limit, so that
 * the header shows which change is in force.
 */
const FIRST_LIMIT = 1_000_000

/**
 * Measures the time from a change to a rule until all API processes apply it. Uses separate servers, one worker and
 * three API processes.
 */
export async function changesTable(folder: string, say: (text: string) => void): Promise<void> {
  const servers = await startNodes(folder)
  try {
    const { urls, headers } = servers
    const answered: number[] = []
    const inForce: number[] = []
    const put = (url: string, limit: number, method = 'PUT') =>
      send(`${url}${method === 'POST' ? RULE.slice(0, RULE.lastIndexOf('/')) : RULE}`, method, headers, {
        ...(method === 'POST' && { rule_id: 'watched' }),
        match: { endpoint_pattern: WATCHED },
        limit,
        window_seconds: 60,
      })
    await put(urls[0], FIRST_LIMIT, 'POST')
    await Promise.all(urls.map((url) => untilLimit(url, FIRST_LIMIT)))
    for (let change = 1; change <= CHANGES; change++) {
      const sentAt = performance.now()
      const everywhere = Promise.all(urls.map((url) => untilLimit(url, FIRST_LIMIT + change)))
      await put(urls[change % NODES], FIRST_LIMIT + change)
      answered.push(performance.now() - sentAt)
      await everywhere
      inForce.push(performance.now() - sentAt)
    }
    say(
      `\n### A rule was changed ${CHANGES} times; times from sending the request until its answer, and until all ${NODES} API processes apply the change (target: 1 s)`,
    )
    say('\n| | P50 ms | max ms |\n|---|---|---|')
    for (const [name, times] of [
      ['acknowledged', answered],
      ['in force on all', inForce],
    ] as const) {
      const sorted = times.toSorted((one, other) => one - other)
      say(`| ${name} | ${sorted[Math.floor(sorted.length / 2)].toFixed(0)} | ${sorted.at(-1)!.toFixed(0)} |`)
    }
  } finally {
    await servers.stop()
  }
}

async function send(url: string, method: string, headers: Record<string, string>, body: object): Promise<void> {
  const answer = await fetch(url, { method, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${method} ${url} returned status ${answer.status}: ${await answer.text()}`)
}

async function untilLimit(url: string, limit: number): Promise<void> {
  const until = performance.now() + FORCE_TIMEOUT_MS
  while (performance.now() < until) {
    const answer = await fetch(url + WATCHED)
    await answer.arrayBuffer()
    if (answer.headers.get('x-ratelimit-limit') === String(limit)) return
    await delay(LOOK_EVERY_MS)
  }
  throw new Error(`the limit ${limit} is still not in force at ${url} after ${FORCE_TIMEOUT_MS} ms`)
}

interface Servers {
  readonly urls: readonly string[]
  /** Headers with an administrator's token. */
  readonly headers: Record<string, string>
  stop(): Promise<void>
}

async function startNodes(folder: string): Promise<Servers> {
  const base = await startServers(join(folder, 'changes'), WITHOUT_CLICKHOUSE)
  const { env } = base
  const nodes: NodeProcess[] = []
  async function stop(): Promise<void> {
    await Promise.all(nodes.map((node) => node.stop()))
    await base.stop()
  }
  try {
    const worker = await startWorkerProcess([], { ...env, PIPELINES: 'limits' })
    nodes.push(worker)
    for (let node = 0; node < NODES; node++) {
      nodes.push(await startApiProcess([], { ...env, API_SERVICES: 'limits', API_PORT: '0' }))
    }
    const urls = nodes.slice(1).map(({ line }) => line.url as string)
    await untilReady(`http://127.0.0.1:${worker.line.health_port}`, ...urls)
    const token = await run(process.execPath, [join(ROOT, 'tools/token/main.ts'), '--sub', '1', '--scope', 'admin'], {
      env: { ...inheritedEnv(), MILLRACE_HOME: env.MILLRACE_HOME },
    })
    return { urls, headers: { authorization: `Bearer ${token.stdout.trim()}` }, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
