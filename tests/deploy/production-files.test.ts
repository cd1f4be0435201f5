import { readdirSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readApiConfig } from '../../api/config.ts'
import { API_HEAP_ENV, API_HEAP_FLAGS } from '../../api/heap-flags.ts'
import { PROBE_TIMEOUT_MS } from '../../api/kit/readiness.ts'
import { localConfig } from '../../deploy/local/config.ts'
import { brokerProperties } from '../../deploy/local/kafka/settings.ts'
import { PERSISTENCE } from '../../deploy/local/redis.ts'
import { WORKER_NICE } from '../../deploy/local/worker-nice.ts'
import { BUFFER_HEAP_ENV, BUFFER_HEAP_FLAGS } from '../../kafka/client/heap-flags.ts'
import { readPipelinesConfig } from '../../pipelines/config.ts'
import { LOOP_SAMPLE_MS } from '../../runtime/process-metrics.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const source = (path: string) => readFileSync(join(ROOT, path), 'utf8')

type Env = Record<string, string>

/** A container of this project's image, from Compose or Kubernetes. */
interface Container {
  readonly name: string
  readonly command: readonly string[]
  readonly env: Env
  readonly isReadOnly: boolean
  readonly dropsPrivileges: boolean
  /** Paths that the container can write to. */
  readonly writable: readonly string[]
}

/**
 * Variables that Node, libuv, the C library, the AWS SDK or the manifests themselves use. They are not settings of this
 * project.
 */
const OF_OTHERS = new Set([
  'NODE_COMPILE_CACHE',
  'UV_THREADPOOL_SIZE',
  'MALLOC_ARENA_MAX',
  'MALLOC_MMAP_THRESHOLD_',
  'AWS_REGION',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'POD_IP',
])
/** Secrets without which the production settings are invalid. */
const REQUIRED_SECRETS = ['LINKS_SECRET', 'FRAUD_HASH_KEY', 'RECOMMENDATIONS_SECRET', 'VISITOR_SECRET']
const SECRET = 'twenty-two characters and more'
const MILLRACE_HOME = '/var/lib/millrace'
const POD_IP = '10.0.0.1'

/** All settings, read from the table in the README. Another test compares this table with the code. */
const settings = new Set([...source('README.md').matchAll(/^\| `([A-Z][A-Z0-9_]+)` \|/gm)].map(([, name]) => name))

/** The text of the Dockerfile. */
const image = source('deploy/image/Dockerfile')
const imageEnv = Object.fromEntries(
  [...(/^ENV ((?:.*\\\n)*.*)$/m.exec(image)?.[1] ?? '').matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]),
) as Env

// --- compose ---

// biome-ignore lint/suspicious/noExplicitAny: documents without types
type Document = any

const compose: Document = parse(source('deploy/compose/compose.yaml'), { merge: true })
const composeExample = Object.fromEntries(
  [...source('deploy/compose/env.example').matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value || SECRET]),
) as Env
const ownServices = Object.entries<Document>(compose.services).filter(([, { image: name }]) => name === 'millrace')

function composeContainer([name, service]: [string, Document]): Container {
  const given = Object.entries<string>(service.environment).map(([key, value]) => [
    key,
    value.replace(/\$\{(\w+):\?\}/g, (_, variable: string) => composeExample[variable] ?? ''),
  ])
  return {
    name: `compose ${name}`,
    command: service.command,
    env: { ...imageEnv, ...Object.fromEntries(given) },
    isReadOnly: service.read_only === true,
    dropsPrivileges: service.cap_drop.includes('ALL') && service.security_opt.includes('no-new-privileges:true'),
    // The image declares its home as a volume, so a service without a named volume gets an anonymous volume.
    writable: [MILLRACE_HOME, ...service.tmpfs, ...(service.volumes ?? []).map((volume: string) => volume.split(':')[1])],
  }
}

// --- Kubernetes ---

const FOLDER = 'deploy/kubernetes'
const kustomization: Document = parse(source(`${FOLDER}/kustomization.yaml`))
const manifests = kustomization.resources.flatMap((file: string) =>
  parseAllDocuments(source(`${FOLDER}/${file}`)).map((document): Document => document.toJS()),
) as Document[]
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
const configMap: Env = ofKind('ConfigMap')[0].data
const secret = Object.fromEntries(
  Object.keys((parse(source(`${FOLDER}/secret.example.yaml`)) as Document).stringData).map((name) => [
    name,
    name === 'OPENSEARCH_URL' ? 'https://user:password@opensearch:9200' : SECRET,
  ]),
) as Env
const workloads = ofKind('StatefulSet')
const podOf = (workload: Document): Document => workload.spec.template.spec
const containerOf = (workload: Document): Document => podOf(workload).containers[0]
const allOf = (workload: Document): Document[] => [...(podOf(workload).initContainers ?? []), ...podOf(workload).containers]

/**
 * Returns the environment variables that Kubernetes adds to a pod for the services in its namespace. The function
 * assumes that Redis, ClickHouse, OpenSearch and the schema registry are in the same namespace, because the settings
 * address them by their short names.
 */
function serviceLinks({ enableServiceLinks = true }: Document): Env {
  const own = ofKind('Service').filter(({ spec }) => spec.clusterIP !== 'None')
  const names = [...own.map(({ metadata }) => metadata.name), 'redis', 'clickhouse', 'opensearch', 'schema-registry']
  if (!enableServiceLinks) return {}
  return Object.fromEntries(names.map((name) => [`${name.toUpperCase().replaceAll('-', '_')}_PORT`, 'tcp://10.96.0.1:1234']))
}

function kubernetesContainer(workload: Document, container: Document = containerOf(workload)): Container {
  const { command, env, envFrom, securityContext, volumeMounts } = container
  const from = envFrom.map((source: Document) => (source.configMapRef ? configMap : secret))
  const own: Env = {}
  for (const { name, value, valueFrom } of env) {
    own[name] = valueFrom === undefined ? value.replace('$(POD_IP)', POD_IP) : POD_IP
  }
  const pod = podOf(workload).securityContext
  return {
    name: `Kubernetes ${workload.metadata.name} ${container.name}`,
    command,
    env: Object.assign({ ...imageEnv, ...serviceLinks(podOf(workload)) }, ...from, own),
    isReadOnly: securityContext.readOnlyRootFilesystem,
    dropsPrivileges:
      pod.runAsNonRoot && securityContext.allowPrivilegeEscalation === false && securityContext.capabilities.drop.includes('ALL'),
    writable: volumeMounts.map(({ mountPath }: Document) => mountPath),
  }
}

const containers = [
  ...ownServices.map(composeContainer),
  ...workloads.flatMap((workload) => allOf(workload).map((container) => kubernetesContainer(workload, container))),
]
const program = ({ command }: Container) => command.at(-1) ?? ''
const HEAP_FLAGS: Record<string, readonly string[]> = { 'pipelines/main.ts': BUFFER_HEAP_FLAGS, 'api/main.ts': API_HEAP_FLAGS }
const HEAP_ENV: Record<string, Env> = { 'pipelines/main.ts': BUFFER_HEAP_ENV, 'api/main.ts': API_HEAP_ENV }
const READERS: Record<string, (env: Env) => unknown> = {
  'api/main.ts': readApiConfig,
  'pipelines/main.ts': readPipelinesConfig,
  'deploy/local/topics.ts': localConfig,
}

describe.each(containers)('$name', (container) => {
  const read = READERS[program(container)]

  test('sets only variables that exist, and all variables that production requires', () => {
    expect(Object.keys(container.env).filter((name) => !settings.has(name) && !OF_OTHERS.has(name))).toEqual([])
    expect(container.env.NODE_ENV).toBe('production')
    expect(() => read(container.env)).not.toThrow()
  })

  test('has a read-only root file system and no privileges, and keeps its files in writable folders', () => {
    expect(container.isReadOnly && container.dropsPrivileges).toBe(true)
    expect(container.writable).toEqual(expect.arrayContaining([MILLRACE_HOME, '/tmp']))
    const folders = ['MILLRACE_HOME', 'STATE_DIR', 'SPOOL_DIR', 'API_TABLES_DIR', 'NODE_COMPILE_CACHE']
    for (const path of folders.flatMap((name) => container.env[name] ?? [])) expect(path).toMatch(MILLRACE_HOME)
  })

  test('starts a program of the image, and gives workers and APIs their flags and heap limits', () => {
    expect(container.command).toEqual(['node', ...(HEAP_FLAGS[program(container)] ?? []), program(container)])
    expect(container.env).toMatchObject(HEAP_ENV[program(container)] ?? {})
  })
})

test('workers in Compose share a machine with the APIs, so they have the same nice values as with npm start', () => {
  const workers = ownServices.map(composeContainer).filter(({ env }) => env.WORKER_ROLE !== undefined)
  const nice = workers.map(({ env }) => [env.WORKER_ROLE, Number(env.WORKER_NICE ?? 0)])
  expect(Object.fromEntries(nice)).toEqual(WORKER_NICE)
})

test.each(REQUIRED_SECRETS)('without %s, production does not start', (name) => {
  const { [name]: _, ...others } = Object.assign({}, ...containers.map(({ env }) => env), { WORKER_ROLE: 'all' }) as Env
  expect(() => [readApiConfig(others), readPipelinesConfig(others)]).toThrow(name)
})

test('Kubernetes creates the topics with production settings before a worker can create them with the defaults for a small machine', () => {
  const workers = workloads.filter((workload) => containerOf(workload).command.at(-1) === 'pipelines/main.ts')
  const first = workers.map((workload) => kubernetesContainer(workload, podOf(workload).initContainers[0]))
  expect(first.map((container) => [program(container), container.env.PARTITIONS])).toEqual([
    ['deploy/local/topics.ts', 'production'],
    ['deploy/local/topics.ts', 'production'],
  ])
})

test('each worker publishes an address at which other containers reach it', () => {
  const workers = containers.filter((container) => program(container) === 'pipelines/main.ts')
  const hosts = workers.map(({ env }) => new URL(env.HEALTH_ADDRESS).host)
  // In Compose, the name of a service is its host name.
  expect(hosts.sort()).toEqual([`${POD_IP}:9400`, `${POD_IP}:9400`, 'decider:9400', 'worker:9400'])
})

test('Compose and Kubernetes both run workers of both roles and an API', () => {
  const roles = containers.filter((container) => program(container) === 'pipelines/main.ts').map(({ env }) => env.WORKER_ROLE)
  expect(roles.sort()).toEqual(['bulk', 'bulk', 'deciding', 'deciding'])
  expect(containers.filter((container) => program(container) === 'api/main.ts')).toHaveLength(2)
})

describe('ports', () => {
  const portsOf = (env: Env) =>
    ['API_PORT', 'SHORT_PORT', 'OPERATIONS_PORT', 'HEALTH_PORT'].flatMap((name) => (env[name] ? [Number(env[name])] : []))

  test.each(ofKind('StatefulSet'))('of $metadata.name agree with its settings, probes, services and network policies', (workload) => {
    const { env } = kubernetesContainer(workload)
    const { ports, livenessProbe, readinessProbe } = containerOf(workload)
    const scraped = Number(workload.spec.template.metadata.annotations['prometheus.io/port'])
    const declared = ports.map(({ containerPort }: Document) => containerPort)
    expect(declared).toEqual(portsOf(env))
    // The liveness probe uses the port for operations. Callers can use up the connections of the other ports of an API,
    // but not of this port.
    const internal = ports.find(({ containerPort }: Document) => containerPort === scraped).name
    expect([livenessProbe.httpGet, readinessProbe.httpGet]).toEqual([
      { path: '/livez', port: internal },
      { path: '/readyz', port: ports[0].name },
    ])
    const component = workload.metadata.name
    const selects = ({ spec }: Document) => (spec.selector.matchLabels ?? spec.selector)['app.kubernetes.io/component'] === component
    const served = ofKind('Service')
      .filter(selects)
      .flatMap(({ spec }) => spec.ports.map(({ port }: Document) => port))
    expect(served.sort()).toEqual(declared.toSorted())
    expect(ofKind('PodDisruptionBudget').filter(selects)).toHaveLength(1)
    const open = ofKind('NetworkPolicy').flatMap(({ spec }) =>
      spec.ingress.flatMap((rule: Document) => rule.ports.map(({ port }: Document) => port)),
    )
    expect(open).toEqual(expect.arrayContaining(declared))
    expect(scraped).toBe(Number(env.HEALTH_PORT ?? env.OPERATIONS_PORT))
  })

  test('for health checks are open between workers, which watch each other', () => {
    const pods = { podSelector: { matchLabels: { 'app.kubernetes.io/name': 'millrace' } } }
    const [{ spec }] = ofKind('NetworkPolicy')
    expect(spec.ingress).toContainEqual({ from: [pods], ports: [{ port: 9400 }] })
    expect(spec.egress).toContainEqual({ to: [pods], ports: [{ port: 9400 }] })
  })

  test('of Compose services agree with the settings', () => {
    for (const [name, service] of ownServices) {
      const known = portsOf(composeContainer([name, service]).env)
      const checked = [...JSON.stringify(service.healthcheck ?? '').matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port))
      const published = (service.ports ?? []).map((port: string) => Number(port.split(':').at(-1)))
      expect(known).toEqual(expect.arrayContaining([...checked, ...published]))
      // Each service has a health check on one port, except the program that creates the topics, which has no port.
      expect([name, checked.length]).toEqual([name, service.command.at(-1) === 'deploy/local/topics.ts' ? 0 : 1])
    }
  })
})

test('the timeout of each readiness probe exceeds the time that a readiness report takes while a server hangs', () => {
  const MS_PER_SECOND = 1_000
  const timeouts = workloads.map((workload) => containerOf(workload).readinessProbe.timeoutSeconds * MS_PER_SECOND)
  expect(timeouts.filter((timeoutMs) => timeoutMs <= PROBE_TIMEOUT_MS)).toEqual([])
})

test('the statements that create a user for analysts work in Compose, and name the database that has the tables', () => {
  const { database, username } = readPipelinesConfig(composeContainer(ownServices.find(([name]) => name === 'worker')!).env).clickhouse
  const server: Env = compose.services.clickhouse.environment
  // The image removes the user `default`, so this is the only user that could create others.
  expect([server.CLICKHOUSE_USER, server.CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT]).toEqual([username, '1'])
  const granted = [...source('docs/tables.md').matchAll(/^GRANT SELECT ON (\w+)\.\w+ TO/gm)].map(([, name]) => name)
  expect(granted).toEqual([database])
})

test('the grace period of each pod is longer than the sum of the drain delay and the drain time limit', () => {
  const MS_PER_SECOND = 1_000
  expect(ofKind('StatefulSet').length).toBeGreaterThan(2)
  for (const workload of ofKind('StatefulSet')) {
    const { env } = kubernetesContainer(workload)
    const drain = Number(env.API_DRAIN_DELAY_MS ?? 0) + Number(env.API_DRAIN_TIMEOUT_MS ?? 30_000)
    expect(podOf(workload).terminationGracePeriodSeconds * MS_PER_SECOND).toBeGreaterThan(drain)
  }
})

test('Kafka and OpenSearch in Compose have the versions of the local stack, and settings that both brokers have are equal', () => {
  const version = (pom: string) => /<version>(\d+\.\d+\.\d+)<\/version>\s*<\/dependency>/.exec(source(pom))?.[1]
  expect(compose.services.kafka.image).toBe(`apache/kafka:${version('deploy/local/kafka/pom.xml')}`)
  expect(compose.services.opensearch.image).toBe(`opensearchproject/opensearch:${version('deploy/local/search/pom.xml')}`)

  const local = new Map(
    brokerProperties('/data', { client: 9092, controller: 9093 })
      .trim()
      .split('\n')
      .map((line) => line.split('=') as [string, string]),
  )
  // Addresses and folders differ between Compose and a local broker.
  const differs = /LISTENERS|QUORUM|LOG_DIRS/
  const common = Object.entries<string>(compose.services.kafka.environment).flatMap(([name, value]) => {
    const property = name.replace('KAFKA_', '').toLowerCase().replaceAll('_', '.')
    return differs.test(name) || !local.has(property) ? [] : [[property, value]]
  })
  expect(common.length).toBeGreaterThan(12)
  expect(common).toEqual(common.map(([property]) => [property, local.get(property)]))
})

test('Redis in Compose stores its data like the local Redis, and makes no dumps, because deleted data would remain in them', () => {
  const [program, ...options] = compose.services.redis.command as string[]
  const given = Object.fromEntries(options.flatMap((option, index) => (index % 2 === 0 ? [[option, options[index + 1] || '""']] : [])))
  expect(program).toBe('redis-server')
  for (const [name, value] of Object.entries(PERSISTENCE)) expect(given).toHaveProperty([`--${name}`], value)
})

describe('the image', () => {
  const copied = [...image.matchAll(/^COPY (?!--from)(\S+) (?:\S+)$/gm)].map(([, path]) => path)
  const { dependencies, optionalDependencies } = JSON.parse(source('package.json'))
  const packages = new Set(Object.keys({ ...dependencies, ...optionalDependencies }))

  test('runs as a non-root user and contains only production packages', () => {
    expect(image).toMatch(/^USER 1000:1000$/m)
    expect(image).toContain('npm install --no-save --omit=dev --ignore-scripts')
  })

  /** Packages that the image deletes after the installation. */
  const deleted = [...image.matchAll(/rm -rf ((?:node_modules\/(?:@[\w-]+|[\w-]+) ?)+)\\?$/gm)].flatMap(([, paths]) =>
    paths
      .trim()
      .split(' ')
      .map((path) => path.replace('node_modules/', '')),
  )

  test('contains every file and package that its programs load', () => {
    const starts = [...new Set(containers.map(program)), 'tools/recommendations/train/main.ts']
    const [files, named] = [new Set<string>(), new Set<string>()]
    const waiting = [...starts]
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (files.has(path)) continue
      files.add(path)
      if (!/\.[mj]?[jt]s$/.test(path)) continue
      const text = source(path).replaceAll(/^import type .*$/gm, '')
      for (const [, found] of text.matchAll(/(?:\bfrom |\bimport\(|^import |\bnew URL\()'([^']+)'/gm)) {
        if (found.startsWith('.')) waiting.push(...existing(normalize(join(path, '..', found))))
        else if (!found.startsWith('node:') && /^[@a-z]/.test(found)) named.add(found.split('/', found.startsWith('@') ? 2 : 1).join('/'))
      }
    }
    expect(files.size).toBeGreaterThan(700)
    expect([...files].filter((path) => !copied.some((folder) => path === folder || path.startsWith(`${folder}/`)))).toEqual([])
    expect([...named].filter((name) => !packages.has(name) && !/^https?:|^data:/.test(name))).toEqual([])
    expect(deleted).toContain('chdb')
    expect([...named].filter((name) => deleted.includes(name.split('/')[0]))).toEqual([])
  })

  test('.dockerignore does not exclude files that the image copies', () => {
    const shown = source('deploy/image/Dockerfile.dockerignore').split('\n')
    const sources = [...image.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, paths]) => paths.split(' '))
    expect(sources.filter((path) => !shown.some((line) => line.startsWith('!') && path.startsWith(line.slice(1))))).toEqual([])
  })

  /**
   * Returns a list with the path if it is the path of a file. Returns an empty list otherwise, because a URL in the
   * code may also name a folder.
   */
  function existing(path: string): string[] {
    try {
      readFileSync(join(ROOT, path))
      return [path]
    } catch {
      return []
    }
  }
})

describe('monitoring', () => {
  interface Rule {
    readonly alert: string
    readonly expr: string
  }
  const rules = (parse(source('deploy/monitoring/alerts.yaml')) as Document).groups.flatMap(
    (group: { rules: readonly Rule[] }) => group.rules,
  ) as readonly Rule[]
  const panels = JSON.parse(source('deploy/monitoring/dashboard.json')).panels as readonly {
    id: number
    title: string
    targets: readonly { expr: string }[]
  }[]

  /** The engine's metrics as documented. Another test compares the documentation with the code. */
  const ofWorkers = [...source('docs/engine-reference.md').matchAll(/^\| `([a-z_]+)`[^|]*\| (?:gauge|counter|histogram) \|/gm)].map(
    ([, name]) => name,
  )
  const workerSources = sources('pipelines')
  const apiSources = sources('api')

  function sources(room: string): string {
    return readdirSync(join(ROOT, room), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => source(join(room, file)))
      .join('\n')
  }

  /** Returns true if the code builds the metric's name from a prefix and a suffix. */
  function isComposed(metric: string): boolean {
    const suffixes = [...apiSources.matchAll(/`\$\{(?:kind|name)\}((?:_[a-z]+)+)`/g)].map(([, suffix]) => suffix)
    return suffixes.some((suffix) => metric.endsWith(suffix) && apiSources.includes(`'${metric.slice(0, -suffix.length)}'`))
  }

  async function namesOfNode(): Promise<string[]> {
    const registry = new Registry()
    collectDefaultMetrics({ register: registry })
    return (await registry.getMetricsAsJSON()).map(({ name }) => name)
  }

  function metricsIn(expr: string): string[] {
    const bare = expr.replaceAll(/\{[^}]*\}|"[^"]*"|\[[^\]]*\]/g, ' ').replaceAll(/\b(?:by|on|without|group_left) \([^)]*\)/g, ' ')
    return [...bare.matchAll(/[a-z_][a-z0-9_]*(?![a-z0-9_]|\s*\()/g)]
      .map(([name]) => name)
      .filter((name) => !/^(?:and|or|unless|by|offset)$/.test(name))
  }

  test('shows the delay of the event loop without the interval at which it is sampled', () => {
    const [panel] = panels.filter(({ title }) => title === 'Event loop delay, P99')
    expect(panel.targets.map(({ expr }) => expr)).toEqual([`nodejs_eventloop_lag_p99_seconds - ${LOOP_SAMPLE_MS / 1_000}`])
  })

  test('refers only to metrics that a worker or an API exports', async () => {
    const ofNode = await namesOfNode()
    const isExported = (metric: string) => {
      const name = metric.replace(/(_(?:total|seconds|rows))_(?:bucket|count|sum)$/, '$1')
      if (ofNode.includes(name)) return true
      if (!name.startsWith('millrace_')) return apiSources.includes(`'${name}'`) || isComposed(name)
      const own = name.slice('millrace_'.length)
      return ofWorkers.includes(own) || workerSources.includes(`name: '${own}'`)
    }
    const named = [...rules.map(({ expr }) => expr), ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))].flatMap(metricsIn)
    expect(named.length).toBeGreaterThan(50)
    expect([...new Set(named)].filter((metric) => !isExported(metric))).toEqual([])
    expect(isExported('millrace_sink_lag')).toBe(false)
  })

  test('has a rule for every alert in the metric tables of the operations guide, unless another rule reports the same condition', () => {
    /** Metrics whose alerts need no separate rules: TooManyBlocks and TableStale report the same conditions. */
    const withoutRule = new Set(['fraud_answers_total', 'packed_table_from_snapshot'])
    const tables = source('docs/operations.md')
      .split('\n\n')
      .filter((block) => /^\| metric(?: or log event)? \| alert \|$/m.test(block))
    const rows = tables.flatMap((table) => table.split('\n').slice(2)).map((row) => row.split(' | '))
    const wanted = rows
      .filter(([, alert]) => !/^(?:none|a sudden rise)\b/.test(alert))
      .flatMap(([names]) => [...names.matchAll(/(?<!log event )`([a-z_]+_[a-z]+)[`{]/g)].map(([, name]) => name))
      // Leaves out log events, which are not metrics.
      .filter((name) => !/^model_(?:refused|failed)$/.test(name) && !withoutRule.has(name))
    const used = rules.flatMap(({ expr }) => metricsIn(expr)).map((metric) => metric.replace(/^millrace_|_bucket$/g, ''))
    expect(wanted.length).toBeGreaterThan(25)
    expect(wanted.filter((metric) => !used.includes(metric))).toEqual([])
  })

  test('counts the first event of a counter that does not exist before this event', () => {
    const late = [
      'millrace_records_skipped_total',
      'millrace_records_dropped_total',
      'millrace_sink_deliveries_total',
      // Records can be lost while no worker runs. The next worker counts them when it starts, so its first reported
      // value already includes them.
      'millrace_sink_lost_records_total',
    ]
    const counting = rules.filter(({ expr }) => late.some((metric) => new RegExp(`increase\\(${metric}`).test(expr)))
    expect(counting.length).toBeGreaterThan(2)
    for (const { expr } of counting) {
      const [, series, period] = /increase\((.*?)\[(\w+)\]\)/.exec(expr) ?? []
      expect(expr).toContain(`(${series} unless ${series} offset ${period}) > 0`)
    }
  })

  test('counts a stall of a process once, although each of its topologies reports it', () => {
    const stalls = [...rules, ...panels.flatMap(({ targets }) => targets)]
      .map(({ expr }) => expr)
      .filter((expr) => expr.includes('stalls_total'))
    expect(stalls).toHaveLength(2)
    for (const expr of stalls) expect(expr).toMatch(/^max by \(instance\)/)
  })

  test('reports expiring keys only if loading them has failed, because idle APIs do not load keys', () => {
    expect(rules.find(({ alert }) => alert === 'KeysExpire')?.expr).toContain(' and increase(auth_keys_load_failures_total[')
  })

  test('has unique names and ids', () => {
    const unique = (list: readonly unknown[]) => new Set(list).size === list.length
    expect(unique(rules.map(({ alert }) => alert)) && unique(panels.map(({ id }) => id)) && unique(panels.map(({ title }) => title))).toBe(
      true,
    )
  })
})
