import type { AnyTopic, Topic } from '../../../schemas/topic.ts'
import type { EngineStore } from '../../../state/stores/store.ts'
import type { CloseWithout } from '../time/time-gate.ts'
import { type TimeStore, timeStore } from '../time/time-store.ts'
import type {
  Context,
  OnError,
  OnFailure,
  ProcessOptions,
  Processor,
  RepartitionOptions,
  SourceOptions,
  Stream,
  TickHandler,
  TickOptions,
  TimeHandler,
  TopologyBuilder,
} from './api.ts'
import { TopologyError } from './errors.ts'
import { repartitionTopicName } from './internal-topics.ts'

/** The declarations of a build function, in their original order. Each task has a separate instance. */
export interface Declaration {
  readonly topology: string
  readonly streams: readonly StreamDeclaration[]
  readonly stores: ReadonlyMap<string, EngineStore>
  readonly repartitions: ReadonlyMap<string, AnyTopic>
}

/**
 * One source topic and the nodes attached to it. The types of keys and values are not part of this interface, because
 * the builder has already checked them.
 */
export interface StreamDeclaration {
  readonly topic: AnyTopic
  readonly options: SourceOptions<unknown, unknown>
  readonly processors: ProcessNode[]
  readonly ticks: TickNode[]
  readonly beforeCommits: BeforeCommitNode[]
  readonly timeMarks: TimeMarkNode[]
  readonly timeHandlers: TimeHandlerNode[]
  /** Keeps the received markers; defined when the stream has time handlers. */
  timeStore: TimeStore | undefined
}

interface NamedNode {
  readonly name: string
  readonly stores: readonly EngineStore[]
  readonly emits: readonly AnyTopic[]
}

export interface ProcessNode extends NamedNode {
  readonly kind: 'process'
  readonly reads: ((value: unknown, key: unknown, timestamp: number) => void) | undefined
  readonly process: Processor<unknown, unknown>
}

export interface TickNode extends NamedNode {
  readonly kind: 'tick'
  readonly everyMs: number
  readonly clock: 'wall' | 'event' | 'caught-up'
  readonly handler: TickHandler
}

export interface BeforeCommitNode extends NamedNode {
  readonly kind: 'before-commit'
  readonly handler: (ctx: Context) => void
}

export interface TimeMarkNode {
  readonly everyMs: number
  readonly delayMs: number
  readonly to: AnyTopic
}

export interface TimeHandlerNode extends NamedNode {
  readonly kind: 'on-time'
  readonly forwardTo: AnyTopic | undefined
  /** With Infinity, every time is closed, however late. */
  readonly thinBehindMs: number
  readonly closeWithout: CloseWithout | undefined
  readonly handler: TimeHandler
}

/** Nodes that run the author's code and may emit. */
export type EmittingNode = ProcessNode | TickNode | BeforeCommitNode | TimeHandlerNode

/** Returns every node of a stream that runs the author's code. */
export function nodesOf(stream: StreamDeclaration): EmittingNode[] {
  return [...stream.processors, ...stream.ticks, ...stream.beforeCommits, ...stream.timeHandlers]
}

/** Allowed form of names. Names become parts of topic names, and appear in metrics and errors. */
const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
/**
 * Maximum length of a name. Kafka allows topic names of up to 249 characters, and the longest internal name joins two
 * names and a suffix.
 */
const MAX_NAME_LENGTH = 100

const STAGES: ReadonlySet<string> = new Set<keyof OnError>(['decode', 'reject', 'process', 'produce'])
const POLICIES: ReadonlySet<string> = new Set<OnFailure>(['fail', 'drop', 'dead-letter'])

/** Checks that a name can become part of a topic name. @throws TopologyError if it cannot */
export function checkName(kind: string, name: string): void {
  if (name.length <= MAX_NAME_LENGTH && NAME_PATTERN.test(name)) return
  throw new TopologyError(
    `the ${kind} name ${JSON.stringify(name)} cannot be used: give a name of 1 to ${MAX_NAME_LENGTH} letters, digits, dots, dashes or underscores that begins with a letter or digit`,
  )
}

/** Runs a build function and collects its declarations. Nothing is opened. */
export function declare(topology: string, build: (builder: TopologyBuilder) => void): Declaration {
  const streams: StreamDeclaration[] = []
  const stores = new Map<string, EngineStore>()
  const repartitions = new Map<string, AnyTopic>()
  const nodeNames = new Set<string>()

  function refuse(message: string): never {
    throw new TopologyError(`topology ${topology}: ${message}`)
  }

  function claimNode(name: string): string {
    checkName('processor', name)
    if (nodeNames.has(name))
      refuse(`two nodes are called ${name}: names of processors, ticks and handlers appear in metrics and errors, so they must differ`)
    nodeNames.add(name)
    return name
  }

  function addStore<S extends EngineStore>(store: S): S {
    checkName('store', store.name)
    const known = stores.get(store.name)
    if (known !== undefined && known !== store) refuse(`two stores are called ${store.name}: their changelogs must have different names`)
    stores.set(store.name, store)
    return store
  }

  /** Adds the stores of a node to the declaration. */
  function addStores(list: readonly EngineStore[] | undefined): readonly EngineStore[] {
    for (const store of list ?? []) addStore(store)
    return list ?? []
  }

  function checkPeriod(what: string, option: string, ms: number): void {
    if (!Number.isSafeInteger(ms) || ms <= 0) refuse(`${what}: ${option} must be a positive whole number of milliseconds, not ${ms}`)
  }

  function checkPartitions({ name, partitions }: AnyTopic): void {
    if (!Number.isSafeInteger(partitions) || partitions <= 0)
      refuse(`topic ${name}: partitions must be a positive whole number, not ${partitions}`)
  }

  function checkPolicies(topic: AnyTopic, onError: OnError): void {
    for (const [stage, policy] of Object.entries(onError)) {
      if (!STAGES.has(stage)) refuse(`source ${topic.name}: onError has no stage ${stage}, only ${[...STAGES].join(', ')}`)
      if (policy !== undefined && !POLICIES.has(policy))
        refuse(`source ${topic.name}: onError.${stage} is ${JSON.stringify(policy)}, but must be one of ${[...POLICIES].join(', ')}`)
    }
  }

  function stream(declaration: StreamDeclaration): Stream<unknown, unknown> {
    const self: Stream<unknown, unknown> = {
      process(name: string, options: ProcessOptions<unknown, unknown>, process: Processor<unknown, unknown>) {
        const { reads, emits = [] } = options
        if (reads !== undefined && (options.stores ?? []).length === 0)
          refuse(`${name} has \`reads\`, but names no stores: list every store that it uses in its \`stores\``)
        declaration.processors.push({ kind: 'process', name: claimNode(name), reads, stores: addStores(options.stores), emits, process })
        return self
      },
      tick(name: string, options: TickOptions, handler: TickHandler) {
        const { everyMs, clock, emits = [] } = options
        checkPeriod(`tick ${name}`, 'everyMs', everyMs)
        declaration.ticks.push({ kind: 'tick', name: claimNode(name), everyMs, clock, stores: addStores(options.stores), emits, handler })
        return self
      },
      beforeCommit(name, options, handler) {
        const { emits = [] } = options
        declaration.beforeCommits.push({ kind: 'before-commit', name: claimNode(name), stores: addStores(options.stores), emits, handler })
        return self
      },
      markTime({ everyMs, delayMs, to }) {
        checkPeriod(`markTime to ${to.name}`, 'everyMs', everyMs)
        if (!Number.isSafeInteger(delayMs) || delayMs < 0)
          refuse(`markTime to ${to.name}: delayMs must be 0 or a positive whole number, not ${delayMs}`)
        declaration.timeMarks.push({ everyMs, delayMs, to })
        return self
      },
      onTime(name, options, handler) {
        const { emits = [], forwardTo, thinBehindMs = Infinity, closeWithout } = options
        if (thinBehindMs !== Infinity) checkPeriod(`onTime ${name}`, 'thinBehindMs', thinBehindMs)
        if (closeWithout !== undefined) {
          checkPeriod(`onTime ${name}`, 'closeWithout.afterMs', closeWithout.afterMs)
          if (!(closeWithout.share > 0 && closeWithout.share < 1))
            refuse(`onTime ${name}: closeWithout.share must be more than 0 and less than 1, not ${closeWithout.share}`)
        }
        declaration.timeHandlers.push({
          kind: 'on-time',
          name: claimNode(name),
          stores: addStores(options.stores),
          emits,
          forwardTo,
          thinBehindMs,
          closeWithout,
          handler,
        })
        declaration.timeStore ??= addStore(timeStore(`${name}-time`))
        return self
      },
    }
    return self
  }

  function source(topic: AnyTopic, options: SourceOptions<unknown, unknown> = {}): Stream<unknown, unknown> {
    if (streams.some((known) => known.topic.name === topic.name))
      refuse(`${topic.name} is read twice: attach all its processors to the stream that source() returned`)
    checkPartitions(topic)
    checkPolicies(topic, options.onError ?? {})
    const declaration: StreamDeclaration = {
      topic,
      options,
      processors: [],
      ticks: [],
      beforeCommits: [],
      timeMarks: [],
      timeHandlers: [],
      timeStore: undefined,
    }
    streams.push(declaration)
    return stream(declaration)
  }

  function repartition<K, V>(name: string, options: RepartitionOptions<K, V>): Topic<K, V> {
    checkName('repartition topic', name)
    if (repartitions.has(name)) refuse(`two repartition topics are called ${name}`)
    const topic: Topic<K, V> = { ...options, name: repartitionTopicName(topology, name) }
    checkPartitions(topic)
    repartitions.set(name, topic)
    return topic
  }

  build({ source: source as TopologyBuilder['source'], repartition })
  return { topology, streams, stores, repartitions }
}
