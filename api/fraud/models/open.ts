import { fileURLToPath } from 'node:url'
import type { Registry } from 'prom-client'
import type { CancelTimer } from '../../../runtime/runtime.ts'
import { DEFAULT_POLICY, type Policy } from '../../../schemas/fraud/decision/policy.ts'
import type { ModelInput } from '../../../schemas/fraud/models/inputs.ts'
import { type ChildLink, startChild } from '../../kit/child/link.ts'
import { supervise } from '../../kit/child/supervise.ts'
import type { Logger } from '../../kit/logging.ts'
import type { ModelAssignment, ModelOutcome, ModelScorer } from '../in-force.ts'
import { modelBatches, SCORE_LIMIT_MS } from './batches.ts'
import { ALWAYS_CLOSED, circuit } from './circuit.ts'
import { type ModelFolders, readModelFolders } from './folder.ts'
import { type ActiveModels, CannotLoad, modelLoading } from './loading.ts'
import { modelTelemetry, NO_TELEMETRY } from './telemetry.ts'
import { KIND } from './wire.ts'

/** The models that score in this process, with the data that the routes about models show. */
export interface OpenModels extends ModelScorer {
  /** The models that this process loaded last; undefined before the first models are loaded. */
  readonly active: ActiveModels | undefined
  /** Scores like `score`, but records no metrics. Late answers do not open the circuit. */
  rehearse(input: ModelInput): Promise<ModelOutcome | undefined>
  /** Reads the manifests in the folders with models. */
  folders(): Promise<ModelFolders>
}

export interface ModelTimers {
  setTimer(ms: number, callback: () => void): CancelTimer
  afterTurn(callback: () => void): void
  monotonic(): number
}

interface WantedModels {
  readonly models: ModelAssignment
  readonly policy: Policy
}

export interface ModelsDeps {
  /** The settings in force. Reading a property may throw until the settings are read. */
  readonly settings: WantedModels
  /** The operator's folder with models; undefined if there is none. */
  readonly modelsDir: string | undefined
  readonly log: Logger
  readonly registry: Registry
  readonly timers?: ModelTimers
  /** Starts a model process. */
  start?(): ChildLink
}

const PROCESS = fileURLToPath(new URL('./process/main.ts', import.meta.url))
const NOTHING = Buffer.alloc(0)
/**
 * Interval between checks for changed settings. It is short, because a change must take effect within ten seconds and
 * loading the models alone takes about one second.
 */
const LOOK_EVERY_MS = 500

/** The shipped models with their own policy. A policy for other models would have the wrong thresholds. */
const SHIPPED: WantedModels = { models: { champion: {}, challenger: undefined }, policy: DEFAULT_POLICY }

const SYSTEM_TIMERS: ModelTimers = {
  setTimer(ms, callback) {
    const timer = setTimeout(callback, ms).unref()
    return () => clearTimeout(timer)
  },
  afterTurn: (callback) => void setImmediate(callback),
  monotonic: () => performance.now(),
}

/**
 * Starts the model process and keeps it running with the assigned models. New models and their policy take effect
 * together, once the models are loaded and warm. If models cannot be loaded, the earlier models stay in force. If there
 * are no earlier models, or if a new process cannot load them either, the shipped models are used.
 */
export function openModels({ settings, modelsDir, log, registry, timers = SYSTEM_TIMERS, ...given }: ModelsDeps): OpenModels {
  const telemetry = modelTelemetry(registry, () => current() !== undefined && !late.isOpen)
  const loading = modelLoading({ readFolders: () => readModelFolders(modelsDir), log, onRefused: telemetry.refused })
  const ping = (child: ChildLink) => child.request(KIND.ping, NOTHING)
  let active: ActiveModels | undefined
  /** The settings that this process tried to apply last, even if their models could not be loaded. */
  let tried: WantedModels | undefined
  let isLoading = false
  let isClosed = false
  let cancelLook: CancelTimer = () => {}

  const start = given.start ?? (() => startChild({ file: PROCESS, onLine: (line) => log.warn({ line }, 'fraud_model_process_says') }))

  const supervised = supervise({
    start,
    timers,
    ping,
    async prepare(child) {
      const wanted = wantedSettings() ?? SHIPPED
      active = await loadFirst(child, [wanted, ...earlierInsteadOf(wanted), insteadOf(wanted, SHIPPED)])
      tried = wanted
      log.info({ models: active.versions, policy_version: active.policy.version }, 'fraud_models_in_force')
      late.close()
    },
    onEnd(how, restartInMs) {
      telemetry.restarted()
      log.error({ how, restart_in_ms: restartInMs }, 'fraud_model_process_ended')
    },
  })
  const late = circuit({
    limitMs: SCORE_LIMIT_MS,
    timers,
    ping: () => (supervised.ready === undefined ? Promise.reject(new Error('away')) : ping(supervised.ready)),
  })

  /** Returns the models and the policy in the settings; undefined until the settings are known. */
  function wantedSettings(): WantedModels | undefined {
    try {
      return { models: settings.models, policy: settings.policy }
    } catch {
      return undefined
    }
  }

  function current() {
    return supervised.ready === undefined || active === undefined ? undefined : { child: supervised.ready, models: active }
  }

  /**
   * Returns the wanted models, but with the champion and the policy that this process loaded last; empty if it has not
   * loaded any models yet.
   */
  function earlierInsteadOf(wanted: WantedModels): WantedModels[] {
    if (active === undefined) return []
    return [insteadOf(wanted, { models: { champion: active.versions, challenger: undefined }, policy: active.policy })]
  }

  /**
   * Tries sets of models in the given order, until one can be loaded. Any models are better than none, because without
   * models only rules decide.
   */
  async function loadFirst(child: ChildLink, [first, ...others]: readonly WantedModels[]): Promise<ActiveModels> {
    try {
      return await loading.load(child, first.models, first.policy)
    } catch (error) {
      if (!(error instanceof CannotLoad) || others.length === 0) throw error
      return await loadFirst(child, others)
    }
  }

  /** Loads changed models while the earlier models continue to score. */
  async function look(): Promise<void> {
    const child = supervised.ready
    if (child !== undefined && !isLoading) {
      const wanted = wantedSettings()
      if (wanted !== undefined && (tried === undefined || !isSame(tried, wanted))) {
        isLoading = true
        tried = wanted
        try {
          active = await loadFirst(child, [wanted, ...earlierInsteadOf(wanted)])
          log.info({ models: active.versions, policy_version: active.policy.version }, 'fraud_models_in_force')
          await loading.unloadOthers(child, active)
        } catch (error) {
          if (!(error instanceof CannotLoad)) tried = undefined
        }
        isLoading = false
      }
    }
    if (!isClosed) cancelLook = timers.setTimer(LOOK_EVERY_MS, () => void look())
  }
  void look()

  return {
    score: modelBatches({ current, circuit: late, telemetry, timers }),
    rehearse: modelBatches({ current, circuit: ALWAYS_CLOSED, telemetry: NO_TELEMETRY, timers }),
    get active() {
      return active
    },
    folders: () => readModelFolders(modelsDir),
    probes: [
      {
        name: 'fraud models',
        optional: true,
        async check() {
          if (supervised.trouble !== undefined) return supervised.trouble
          return late.isOpen ? 'the models answer too late' : undefined
        },
      },
    ],
    async close() {
      isClosed = true
      cancelLook()
      late.close()
      await supervised.close()
    },
  }
}

/**
 * Replaces the champion and the policy, but not the challenger. The challenger's trial continues if the champion cannot
 * be loaded, so that this process finds out whether it can load the challenger.
 */
function insteadOf(wanted: WantedModels, { models, policy }: WantedModels): WantedModels {
  return { models: { champion: models.champion, challenger: wanted.models.challenger }, policy }
}

function isSame(one: WantedModels, other: WantedModels): boolean {
  if (one.policy === other.policy && one.models === other.models) return true
  return JSON.stringify(one) === JSON.stringify(other)
}
