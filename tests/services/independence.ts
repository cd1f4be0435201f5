import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { AnyTopic } from '../../schemas/topic.ts'
import type { Variables } from '../../settings/fragment.ts'

/**
 * The names of a service. Outside the folders of services, production code must not contain these names, except in the
 * lists of services.
 */
export interface ServiceNames {
  /** The name of the service's folders. */
  readonly service: string
  /** Names of the service's topics, views, tables and settings. */
  readonly own: readonly string[]
}

/** Describes how a module outside the folders of services depends on a service. */
export interface Dependence {
  readonly file: string
  readonly service: string
  /** The import or the name that makes the module depend on the service. */
  readonly what: string
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Folders in which a service may have a subfolder with the name of the service. */
const ROOMS = ['schemas', 'state/views', 'state/tables', 'state/indexes', 'pipelines', 'api', 'tools/demo']
/**
 * Matches code that runs in production, and commands that belong to no service. Excludes tools of a single service,
 * such as the replay of tweets.
 */
const PRODUCTION = /^(schemas|kafka|state|settings|runtime|pipelines|api|deploy|tools\/(demo|dlq|token)|tools\/[\w-]+\.ts$)/
/** Modules with a list of all services. Each service has one line in the list. */
const LISTS = new Set(['api/services.ts', 'pipelines/services.ts', 'schemas/topics.ts', 'tools/demo/services.ts'])
const GENERATED = /^schemas\/[\w-]+\/types\.ts$/
/**
 * Services whose names are ordinary words. The occurrence of an ordinary word does not prove that a module depends on
 * the service.
 */
const ORDINARY_WORDS = new Set(['trends', 'links', 'limits', 'matches', 'fraud', 'catalog', 'recommendations'])
/** Names of topics that also have another meaning, such as a property of Avro's arrays. */
const ORDINARY_NAMES = new Set(['items'])
const IMPORT = /\bfrom\s+'(\.[^']+)'|\bimport\(\s*'(\.[^']+)'|\bimport\s+'(\.[^']+)'|new URL\('(\.[^']+)'/g

/** Returns the text of each TypeScript file that `PRODUCTION` matches, by path. */
export function productionFiles(): Map<string, string> {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], { cwd: ROOT, encoding: 'utf8' })
  const files = listed.split('\n').filter((file) => PRODUCTION.test(file))
  return new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))
}

/** Returns the services with a `service.ts` in their folder of `api` or `pipelines`, sorted by name. */
export function servicesOf(files: Iterable<string>): string[] {
  const described = [...files].map((file) => /^(?:api|pipelines)\/([\w-]+)\/service\.ts$/.exec(file)?.[1])
  return [...new Set(described.flatMap((name) => name ?? []))].sort()
}

/** Returns the names of topics, views, tables and settings that a service's own modules declare. */
export async function namesOf(service: string, files: Iterable<string>): Promise<ServiceNames> {
  const owned = [...files].filter((file) => folderOf(file) === service)
  const declaring = owned.filter((file) => /^(state\/(views|tables)\/|schemas\/[\w-]+\/topics\.ts$)|\/(service|settings)\.ts$/.test(file))
  const names = new Set<string>()
  for (const file of declaring) {
    const exported = (await import(pathToFileURL(join(ROOT, file)).href)) as Record<string, unknown>
    for (const [name, value] of Object.entries(exported)) for (const one of declaredBy(name, value)) names.add(one)
  }
  return { service, own: [...names] }
}

function declaredBy(exportName: string, value: unknown): string[] {
  if (typeof value === 'string') return exportName.endsWith('_VIEW') ? [value] : []
  if (Array.isArray(value)) return value.flatMap((one) => declaredBy('', one))
  if (typeof value !== 'object' || value === null) return []
  const { topics, settings, variables, name, partitions, rowsOf, writeRows, operationsFor } = value as {
    topics?: readonly AnyTopic[]
    settings?: { variables: Variables }
    variables?: Variables
    name?: string
    partitions?: unknown
    rowsOf?: unknown
    writeRows?: unknown
    operationsFor?: unknown
  }
  const isNamed = [partitions, rowsOf, writeRows, operationsFor].some((member) => member !== undefined)
  return [
    ...(isNamed && name !== undefined ? [name] : []),
    ...(topics ?? []).map((topic) => topic.name),
    ...Object.keys(variables ?? settings?.variables ?? {}),
  ]
}

/** Returns the service to which a file belongs, or undefined if it belongs to none. */
function folderOf(file: string): string | undefined {
  const room = ROOMS.find((candidate) => file.startsWith(`${candidate}/`))
  const [folder, ...rest] = room === undefined ? [''] : file.slice(room.length + 1).split('/')
  return rest.length > 0 ? folder : undefined
}

/** Returns how modules outside the folders of services depend on services. Ignores the lists and generated files. */
export function dependences(files: ReadonlyMap<string, string>, services: readonly ServiceNames[]): Dependence[] {
  const known = new Map(services.map((names) => [names.service, names]))
  return [...files].flatMap(([file, text]) => {
    const isOwned = known.has(folderOf(file) ?? '')
    return isOwned || LISTS.has(file) || GENERATED.test(file) ? [] : dependencesOf(file, text, known)
  })
}

function dependencesOf(file: string, text: string, services: ReadonlyMap<string, ServiceNames>): Dependence[] {
  const imports = [...text.matchAll(IMPORT)].map((match) =>
    posix.join(dirname(file), match.slice(1).find((path) => path !== undefined) ?? ''),
  )
  const imported = imports.flatMap((path) => {
    const service = folderOf(path)
    return service !== undefined && services.has(service) ? [{ file, service, what: path }] : []
  })
  const named = [...services.values()].flatMap(({ service, own }) => {
    const names = own.filter((name) => !ORDINARY_NAMES.has(name) && isNamed(name, text))
    if (!ORDINARY_WORDS.has(service) && text.toLowerCase().includes(service.replace(/s$/, ''))) names.push(service)
    return names.map((what) => ({ file, service, what }))
  })
  return [...imported, ...named]
}

/**
 * Returns true if a text contains a name. A compound name counts anywhere, even in comments. A single word counts only
 * if it is a whole string literal.
 */
function isNamed(name: string, text: string): boolean {
  if (/[-_]/.test(name)) return new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(text)
  return ["'", '"', '`'].some((quote) => text.includes(`${quote}${name}${quote}`))
}
