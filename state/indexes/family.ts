import { TargetUnavailableError } from '../unavailable.ts'
import { NOT_FOUND, OK, requireSuccess } from './answers.ts'
import { pathPart, type SearchClient } from './client.ts'
import { definitionOf, type Index, type IndexForm, POSITION_FIELD } from './search-index.ts'

/** What a concrete index was built from, as recorded in the index itself. */
export interface IndexOrigin {
  /** The result of `definitionOf` for the index. */
  readonly definition: string
  /** Id of the topic that the index is filled from. A topic that was deleted and created again has a different id. */
  readonly topicId: string
  /** Id of the rebuild request for which the index was built; undefined if it was built without a request. */
  readonly requestId?: string
}

export interface ConcreteIndex extends IndexOrigin {
  readonly name: string
  /** True if the alias refers to this index, so that searches use this index. */
  readonly isCurrent: boolean
  /** The tokens of the process that fills the index; empty when the index is complete. */
  readonly builders: readonly string[]
}

/**
 * The concrete indexes of one `Index`. An index that is being filled has an alias with a random token. Only the holder
 * of the token can write to the index and make searches use it. If a process was replaced without noticing, its writes
 * fail at the server, because its alias no longer exists.
 */
export interface IndexFamily {
  /**
   * Returns all concrete indexes.
   * @throws TargetUnavailableError, like all methods, when a retry may help
   */
  list(): Promise<ConcreteIndex[]>
  /** Returns the index that searches use; undefined when the alias refers to no index or to several. */
  current(): Promise<ConcreteIndex | undefined>
  /**
   * Creates an empty index to which only the holder of the token can write.
   * @param now epoch ms. It becomes the number in the name of the index, unless an existing index has this number or a
   * greater one.
   * @returns the name of the index
   */
  create(origin: IndexOrigin, token: string, now: number): Promise<string>
  /**
   * Takes over an unfinished index and invalidates its existing tokens.
   * @returns false if the index has changed in the meantime
   */
  takeOver(index: ConcreteIndex, token: string): Promise<boolean>
  /**
   * Makes searches use a complete index in place of the former index, in one atomic step. The former index remains for
   * searches that are in progress, but sinks can no longer write to it.
   * @returns false if `token` is no longer valid for the complete index, or if the former index has changed in the
   * meantime
   */
  publish(index: string, token: string, former: string | undefined): Promise<boolean>
  remove(index: string): Promise<void>
  /**
   * Makes the server retry failed shard allocations if data is unavailable (cluster status red). The server gives up
   * after some attempts, for example while the disk is full, and then does not try again by itself.
   */
  retryFailedShards(): Promise<void>
}

/**
 * Returns the alias under which sinks write to a concrete index while searches use that index. In the step that moves
 * the alias for searches, `publish` removes the former index's alias for sinks and creates the one of the new index.
 */
export function sinkAlias(index: string): string {
  return `${index}.sink`
}

/** Returns the alias under which the holder of a token writes to an index. */
export function builderAlias(index: string, token: string): string {
  return `${index}${BUILDER}${token}`
}

const BUILDER = '.builder.'
/** Query parameter that limits the description of an index to its aliases and its `IndexOrigin`. */
const FACTS = 'filter_path=*.aliases,*.mappings._meta'
const CREATE_TIMEOUT_MS = 60_000
/**
 * How long the server remembers the version of a deleted document. After this time, a late write of an earlier version
 * would bring the document back. The default of a minute is too short, because a sink may be suspended for longer
 * before it notices that another process has taken over its partition. A remembered deletion takes about 100 bytes of
 * memory.
 */
const DELETIONS_REMEMBERED = '1h'

/**
 * Settings that spread an index over the machines of a cluster. They are applied when an index is created. A change
 * does not trigger a rebuild.
 */
export interface IndexLayout {
  readonly shards: number
  readonly replicas: number
}

const ONE_SERVER: IndexLayout = { shards: 1, replicas: 0 }

export function indexFamily<K, V>(index: Index<K, V>, client: SearchClient, layout: IndexLayout = ONE_SERVER): IndexFamily {
  const { name } = index

  function concrete([concreteName, { aliases = {}, mappings = {} }]: [string, IndexBody]): ConcreteIndex {
    const { definition = '', topic_id: topicId = '', request_id: requestId } = mappings._meta ?? {}
    const prefix = concreteName + BUILDER
    const tokens = Object.keys(aliases).filter((alias) => alias.startsWith(prefix))
    const builders = tokens.map((alias) => alias.slice(prefix.length))
    return { name: concreteName, definition, topicId, requestId, isCurrent: name in aliases, builders }
  }

  async function list(): Promise<ConcreteIndex[]> {
    const answer = await client.call({ method: 'GET', path: `/${pathPart(name)}-*?expand_wildcards=all&${FACTS}` })
    requireSuccess(answer, `listing the indexes of ${name}`)
    const isOwn = new RegExp(`^${RegExp.escape(name)}-\\d+$`)
    return Object.entries(answer.body as Record<string, IndexBody>)
      .filter(([each]) => isOwn.test(each))
      .map(concrete)
      .sort((a, b) => numberOf(a.name) - numberOf(b.name))
  }

  async function current(): Promise<ConcreteIndex | undefined> {
    const answer = await client.call({ method: 'GET', path: `/${pathPart(name)}?${FACTS}` })
    if (answer.status === NOT_FOUND) return undefined
    requireSuccess(answer, `reading index ${name}`)
    const found = Object.entries(answer.body as Record<string, IndexBody>).map(concrete)
    return found.length === 1 ? found[0] : undefined
  }

  async function create(origin: IndexOrigin, token: string, now: number): Promise<string> {
    const greatest = Math.max(0, ...(await list()).map((each) => numberOf(each.name)))
    // The number must never have been used before, so it is a time and not a counter. If the server lost all data, a
    // counter would start from the beginning, and a sink that has not noticed the loss would write to a new index of
    // the same name.
    const created = `${name}-${Math.max(now, greatest + 1)}`
    const answer = await client.call({
      method: 'PUT',
      path: `/${pathPart(created)}`,
      timeoutMs: CREATE_TIMEOUT_MS,
      body: {
        // Documents are searched only when the index is complete, so there is no need to refresh it earlier.
        settings: {
          index: {
            ...index.settings,
            number_of_shards: layout.shards,
            number_of_replicas: layout.replicas,
            refresh_interval: '-1',
            gc_deletes: DELETIONS_REMEMBERED,
          },
        },
        mappings: {
          ...index.mappings,
          dynamic: 'strict',
          _meta: { definition: origin.definition, topic_id: origin.topicId, request_id: origin.requestId },
          properties: { ...index.mappings.properties, [POSITION_FIELD]: { type: 'object', enabled: false } },
        },
        aliases: { [builderAlias(created, token)]: {} },
      },
    })
    requireSuccess(answer, `creating index ${created}`)
    return created
  }

  async function change(actions: readonly object[]): Promise<boolean> {
    const { status, body } = await client.call({ method: 'POST', path: '/_aliases', body: { actions } })
    if (status === NOT_FOUND) return false
    requireSuccess({ status, body }, `changing the aliases of ${name}`)
    return status === OK
  }

  const addition = (of: string, alias: string) => ({ add: { index: of, alias } })
  /** Returns an action that removes an alias. If the index does not have the alias, the whole change fails. */
  const removal = (of: string, alias: string) => ({ remove: { index: of, alias, must_exist: true } })

  async function publish(complete: string, token: string, former: string | undefined): Promise<boolean> {
    await becomeSearchable(complete)
    return change([
      removal(complete, builderAlias(complete, token)),
      ...(former === undefined ? [] : [removal(former, name), removal(former, sinkAlias(former))]),
      addition(complete, name),
      addition(complete, sinkAlias(complete)),
    ])
  }

  async function becomeSearchable(complete: string): Promise<void> {
    const interval = index.settings.refresh_interval ?? null
    const settings = { method: 'PUT', path: `/${pathPart(complete)}/_settings`, body: { index: { refresh_interval: interval } } } as const
    const refresh = { method: 'POST', path: `/${pathPart(complete)}/_refresh`, timeoutMs: CREATE_TIMEOUT_MS } as const
    for (const step of [settings, refresh]) {
      const answer = await client.call(step)
      // If the index no longer exists, its aliases cannot be changed, and `publish` returns false.
      if (answer.status === NOT_FOUND) continue
      requireSuccess(answer, `making ${complete} searchable`)
      requireAllShards(answer.body._shards, complete)
    }
  }

  return {
    list,
    current,
    create,
    takeOver: ({ name: of, builders }, token) =>
      change([...builders.map((former) => removal(of, builderAlias(of, former))), addition(of, builderAlias(of, token))]),
    publish,
    async retryFailedShards() {
      const health = await client.call({ method: 'GET', path: '/_cluster/health?filter_path=status&timeout=0s' })
      if (health.body.status !== 'red') return
      const answer = await client.call({ method: 'POST', path: '/_cluster/reroute?retry_failed=true&metric=none' })
      requireSuccess(answer, 'retrying failed shards')
    },
    async remove(of) {
      const answer = await client.call({ method: 'DELETE', path: `/${pathPart(of)}` })
      if (answer.status !== NOT_FOUND) requireSuccess(answer, `deleting index ${of}`)
    },
  }
}

/**
 * Throws if a shard could not be refreshed, for example because its disk is full. The documents of that shard would be
 * missing from searches.
 */
function requireAllShards(shards: { readonly successful: number; readonly failed: number } | undefined, index: string): void {
  if (shards === undefined || (shards.failed === 0 && shards.successful > 0)) return
  throw new TargetUnavailableError(`not every shard of ${index} could be made searchable`)
}

/** Returns whether `found` was built with the settings, mappings and version that `index` has in this program. */
export function hasForm(found: IndexOrigin, index: IndexForm): boolean {
  return found.definition === definitionOf(index)
}

function numberOf(concreteName: string): number {
  return Number(/\d+$/.exec(concreteName)?.[0])
}

interface IndexBody {
  readonly aliases?: Readonly<Record<string, unknown>>
  readonly mappings?: { readonly _meta?: { readonly definition?: string; readonly topic_id?: string; readonly request_id?: string } }
}
