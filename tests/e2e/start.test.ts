import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createClient } from '@clickhouse/client'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { findChild } from '../../deploy/local/child.ts'
import { clickhousePassword } from '../../deploy/local/clickhouse/password.ts'
import { freePort, LOOPBACK } from '../../deploy/local/ports.ts'
import { waitUntil } from '../../deploy/local/wait.ts'
import { type GuardedFolder, guardedFolder } from '../stack/folder.ts'
import { TEST_JAVA_OPTIONS, TOOLS } from '../stack/servers.ts'

const FILES = fileURLToPath(new URL('../../deploy/local/', import.meta.url))
const READY_TIMEOUT_MS = 90_000
/** How long to wait for the first trends. Lists are renewed every 30 s, and even the first list counts some tweets. */
const FIRST_TRENDS_TIMEOUT_MS = 120_000
const STOP_TIMEOUT_MS = 60_000
const TEST_TIMEOUT_MS = 300_000
/** Every JVM reads this variable, so the broker gets these options although Millrace has no setting for them. */
const FAST_JAVA = { JAVA_TOOL_OPTIONS: TEST_JAVA_OPTIONS.join(' ') }

/**
 * Settings for tests that do not need all services. With fewer processes and servers, these tests take half the time.
 * The test with the demo stream runs all services.
 */
const FEW_SERVICES = { API_SERVICES: 'links', PIPELINES: 'links' }

let shared: GuardedFolder | undefined

interface Installation {
  readonly home: string
  readonly env: Record<string, string>
}

/** Creates a separate data folder and chooses free ports. The folder is deleted when this process ends. */
async function installation(): Promise<Installation> {
  shared ??= guardedFolder()
  const home = join(shared.path, `home-${Math.random().toString(36).slice(2)}`)
  mkdirSync(home)
  symlinkSync(TOOLS, join(home, 'tools'))
  const names = [
    'KAFKA_PORT',
    'KAFKA_CONTROLLER_PORT',
    'REDIS_PORT',
    'CLICKHOUSE_PORT',
    'SCHEMA_REGISTRY_PORT',
    'OPENSEARCH_PORT',
    'API_PORT',
    'API_OPERATIONS_PORT',
    'WORKER_HEALTH_PORT',
    'DECIDER_HEALTH_PORT',
    'SHORT_PORT',
  ]
  const ports = new Set<number>()
  while (ports.size < names.length) ports.add(await freePort())
  const env = Object.fromEntries(names.map((name, index) => [name, String([...ports][index])]))
  return { home, env: { ...env, ...FAST_JAVA, MILLRACE_HOME: home, MILLRACE_DEMO: '0', WORKERS: '0', DECIDERS: '0' } }
}

function withFewServices({ home, env }: Installation): Installation {
  return { home, env: { ...env, ...FEW_SERVICES } }
}

interface Run {
  readonly process: ChildProcess
  output(): string
  ready(): Promise<void>
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

function run(file: string, { home, env }: Installation, args: string[] = []): Run {
  const child = spawn(process.execPath, [join(FILES, file), ...args], {
    cwd: home,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (text += chunk))
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  return {
    process: child,
    output: () => text,
    ready: () =>
      waitUntil(() => text.includes('Ctrl-C stops everything'), {
        what: 'start',
        timeoutMs: READY_TIMEOUT_MS,
        givenUp: () => (child.exitCode === null ? undefined : text),
      }),
    async stop(signal = 'SIGINT') {
      child.kill(signal)
      const [code] = (await exited) as [number | null]
      return code
    },
  }
}

async function finished(file: string, where: Installation, args: string[] = []): Promise<{ code: number | null; output: string }> {
  const started = run(file, where, args)
  await waitUntil(() => started.process.exitCode !== null, { what: file, timeoutMs: STOP_TIMEOUT_MS })
  return { code: started.process.exitCode, output: started.output() }
}

const clickhouse = ({ env, home }: Installation) =>
  createClient({ url: `http://${LOOPBACK}:${env.CLICKHOUSE_PORT}`, password: clickhousePassword({ path: home }) })

test(
  'the status lists the servers of npm start, a second start is refused, a restart keeps the data, and --reset deletes the data',
  async () => {
    const where = withFewServices(await installation())
    const first = run('start.ts', where)
    await first.ready()
    expect((await fetch(`http://${LOOPBACK}:${where.env.API_PORT}/livez`)).status).toBe(200)
    expect(await (await fetch(`http://${LOOPBACK}:${where.env.SCHEMA_REGISTRY_PORT}/subjects`)).json()).toContain('clicks-value')
    const redis = new Redis(`redis://${LOOPBACK}:${where.env.REDIS_PORT}`)
    await redis.set('kept', 'yes')
    redis.disconnect()
    const tables = clickhouse(where)
    await tables.command({ query: 'CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a' })
    await tables.insert({ table: 'kept', values: [{ a: 7 }], format: 'JSONEachRow' })
    await tables.close()

    const status = await finished('status.ts', where)
    for (const part of ['kafka', 'redis', 'clickhouse', 'registry']) expect(status.output).toMatch(new RegExp(`${part} +\\d+ +ok`))
    const second = await finished('start.ts', where)
    expect(second.code).toBe(1)
    expect(second.output).toMatch(/is in use by a running `npm start` \(pid \d+\)/)
    const refusedReset = await finished('start.ts', where, ['--reset'])
    expect(refusedReset.output).toMatch(/stop it before --reset/)

    expect(await first.stop()).toBe(0)
    expect(first.output()).toContain('Stopped.')
    expect((await finished('status.ts', where)).output).toMatch(/No stack is running/)

    const again = run('start.ts', where)
    await again.ready()
    const found = new Redis(`redis://${LOOPBACK}:${where.env.REDIS_PORT}`)
    expect(await found.get('kept')).toBe('yes')
    found.disconnect()
    const rows = clickhouse(where)
    expect(await (await rows.query({ query: 'SELECT a FROM kept', format: 'JSONEachRow' })).json()).toEqual([{ a: 7 }])
    await rows.close()
    expect(await again.stop('SIGTERM')).toBe(0)

    const fresh = run('start.ts', where, ['--reset'])
    await fresh.ready()
    const empty = new Redis(`redis://${LOOPBACK}:${where.env.REDIS_PORT}`)
    expect(await empty.get('kept')).toBeNull()
    empty.disconnect()
    expect(await fresh.stop()).toBe(0)
  },
  TEST_TIMEOUT_MS,
)

test(
  'if npm start is interrupted while it creates topics, it stops within a minute',
  async () => {
    const stack = run('start.ts', withFewServices(await installation()))
    await waitUntil(() => / registry +\d/.test(stack.output()), { what: 'registry', timeoutMs: READY_TIMEOUT_MS })
    const began = performance.now()
    expect(await stack.stop()).toBe(0)
    expect(stack.output()).not.toContain('public topics')
    expect(performance.now() - began).toBeLessThan(STOP_TIMEOUT_MS)
  },
  TEST_TIMEOUT_MS,
)

test(
  'after npm start was killed with -9, the next npm start takes over the running servers, and restarts a server that is killed later',
  async () => {
    const where = withFewServices(await installation())
    const first = run('start.ts', where)
    await first.ready()
    const pidOf = (name: string) => findChild(join(where.home, 'run'), name)?.pid
    const [broker, api] = [pidOf('kafka'), pidOf('api-0')]
    await first.stop('SIGKILL')

    const second = run('start.ts', where)
    await second.ready()
    expect(second.output()).toMatch(/kafka .*\(already running\)/)
    expect(pidOf('kafka')).toBe(broker)
    expect(pidOf('api-0')).not.toBe(api)

    process.kill(pidOf('redis')!, 'SIGKILL')
    await waitUntil(() => second.output().includes('redis is running again'), { what: 'redis', timeoutMs: READY_TIMEOUT_MS })
    expect(second.output()).toContain('redis has ended (')
    expect(await second.stop()).toBe(0)
    expect(pidOf('kafka')).toBeUndefined()
    expect(existsSync(join(where.home, 'lock'))).toBe(false)
  },
  TEST_TIMEOUT_MS,
)

test(
  'with the demo stream, worldwide trends and new short links are served, and the status shows no problem',
  async () => {
    const { home, env } = await installation()
    // Other tests keep both cores busy, and at its default priority the worker would hardly run.
    const where = { home, env: { ...env, MILLRACE_DEMO: '1', WORKERS: '1', DECIDERS: '1', WORKER_NICE: '1' } }
    const stack = run('start.ts', where)
    await stack.ready()
    // When all cores are busy, processes that serve requests or decide commands have priority.
    const pidOf = (name: string) => findChild(join(home, 'run'), name)!.pid
    expect(['api-0', 'decider-0', 'worker-0'].map((name) => getPriority(pidOf(name)))).toEqual([0, 0, 1])
    const url = `http://${LOOPBACK}:${env.API_PORT}/v1/trends?woeid=1&limit=5`
    await waitUntil(async () => ((await (await fetch(url)).json()) as { trends?: unknown[] }).trends?.length === 5, {
      what: 'worldwide trends',
      timeoutMs: FIRST_TRENDS_TIMEOUT_MS,
      intervalMs: 1_000,
    })
    const { trends } = (await (await fetch(url)).json()) as { trends: { rank: number; tweet_volume: number }[] }
    expect(trends.map(({ rank }) => rank)).toEqual([1, 2, 3, 4, 5])
    expect(trends[0].tweet_volume).toBeGreaterThan(0)
    let made: Response | undefined
    await waitUntil(
      async () => {
        made = await fetch(`http://${LOOPBACK}:${env.API_PORT}/api/v1/urls`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ long_url: 'https://example.com/' }),
        })
        return made.status === 201
      },
      { what: 'a short link', timeoutMs: FIRST_TRENDS_TIMEOUT_MS, intervalMs: 1_000 },
    )
    const { short_url } = (await made!.json()) as { short_url: string }
    expect(short_url).toMatch(new RegExp(`^http://localhost:${env.SHORT_PORT}/`))
    expect((await fetch(short_url, { redirect: 'manual' })).headers.get('location')).toBe('https://example.com/')
    // The status may show a problem for a moment if a group member times out on a busy machine.
    let status = { code: null as number | null, output: '' }
    const isWell = async () => {
      status = await finished('status.ts', where)
      return status.code === 0
    }
    await waitUntil(isWell, { what: 'all parts', timeoutMs: FIRST_TRENDS_TIMEOUT_MS, intervalMs: 1_000 }).catch(() => undefined)
    expect(status.output).toMatch(/worker-0 +\d+ +ok/)
    expect(status.output).toMatch(/decider-0 +\d+ +ok/)
    expect(status.output).toMatch(/api-0 +\d+ +ok/)
    expect(status.output).toMatch(/lag of trends: \d+ records in \d+ partitions/)
    expect(status.code).toBe(0)
    expect(await stack.stop()).toBe(0)
  },
  TEST_TIMEOUT_MS,
)

test('if a port is in use, a setting is wrong or a server is missing, the start fails with the reason', async () => {
  const where = await installation()
  for (const [part, setting] of [
    ['redis', 'REDIS_PORT'],
    ['api-0', 'API_PORT'],
    ['api-0', 'SHORT_PORT'],
  ] as const) {
    const stranger = createServer().listen(Number(where.env[setting]), LOOPBACK)
    await once(stranger, 'listening')
    const refused = await finished('start.ts', where)
    stranger.close()
    // The ports of all parts are checked before the first server starts.
    expect(refused).toEqual({
      code: 1,
      output: `Starting Millrace in ${where.home}\nmillrace: ${part}: port ${where.env[setting]} is in use by another program. Stop it, or choose another port with ${setting}\n`,
    })
  }

  const wrong = await finished('start.ts', { ...where, env: { ...where.env, API_PORT: 'x' } })
  expect(wrong).toEqual({ code: 1, output: 'millrace: invalid settings:\n  API_PORT: is not a port\n' })

  const missing = await finished('start.ts', { ...where, env: { ...where.env, KAFKA_BROKERS: `${LOOPBACK}:1` } })
  expect(missing.code).toBe(1)
  expect(missing.output).toContain(
    `millrace: kafka: the server at ${LOOPBACK}:1 is not available (connect ECONNREFUSED ${LOOPBACK}:1). Start the server, correct its address in KAFKA_BROKERS, or unset KAFKA_BROKERS to start a local server\n`,
  )
})

test('Ctrl-C during a start stops everything that has started so far', async () => {
  const where = await installation()
  const started = run('start.ts', where)
  await waitUntil(() => started.output().includes('redis '), { what: 'redis', timeoutMs: READY_TIMEOUT_MS })
  expect(await started.stop()).toBe(0)
  expect(started.output()).toContain('Stopped.')
  for (const name of ['kafka', 'redis', 'clickhouse']) expect(findChild(join(where.home, 'run'), name)).toBeUndefined()
  expect(readFileSync(join(where.home, 'millrace-home'), 'utf8')).not.toBe('')
})
