import { MODELS, type ModelName, type Policy } from '../../../schemas/fraud/decision/policy.ts'
import type { ChildLink } from '../../kit/child/link.ts'
import type { Logger } from '../../kit/logging.ts'
import type { ModelAssignment, ModelVersions } from '../in-force.ts'
import { type ModelFolders, SHIPPED_VERSIONS } from './folder.ts'
import { KIND, type LoadAnswer, type LoadRequest, type ModelNumbers, type UnloadRequest } from './wire.ts'

/**
 * Maximum time that one model of a challenger may take to score its share of the largest batch. The champion's scores
 * wait for the challenger, so all three models of a challenger together may take half of the 30 ms that callers wait.
 */
const CHALLENGERS_MODEL_MS = 5

/** A challenger that does not score, because one of its models cannot be loaded. */
export interface RefusedChallenger {
  readonly versions: ModelVersions
  readonly reason: string
}

/** The models that score, and the policy that was set together with these models. */
export interface ActiveModels {
  readonly versions: Readonly<Record<ModelName, string>>
  readonly champion: ModelNumbers
  /** Undefined if there is no challenger, or if it was refused. */
  readonly challenger: ModelNumbers | undefined
  readonly refusedChallenger?: RefusedChallenger
  readonly policy: Policy
}

/** Error for a model that does not exist, or that the model process refuses, for example because its hash is wrong. */
export class CannotLoad extends Error {
  override readonly name = 'CannotLoad'
}

/** Assigns a number to each model, and makes child processes load and unload models. */
export interface ModelLoading {
  /**
   * Makes a child process load the models of an assignment, unless the process has already loaded them. A challenger
   * that cannot be loaded is left out.
   * @throws CannotLoad if a model of the champion cannot be loaded; ChildGone if the process has ended
   */
  load(child: ChildLink, assignment: ModelAssignment, policy: Policy): Promise<ActiveModels>
  /**
   * Makes a child process unload all models except those that score.
   * @throws ChildGone if the process has ended
   */
  unloadOthers(child: ChildLink, active: ActiveModels): Promise<void>
}

export interface LoadingOptions {
  readFolders(): Promise<ModelFolders>
  readonly log: Logger
  onRefused(): void
}

export function modelLoading({ readFolders, log, onRefused }: LoadingOptions): ModelLoading {
  const numbers = new Map<string, number>()
  const loaded = new WeakMap<ChildLink, Set<number>>()

  /** @param slowestMs see LoadRequest */
  async function loadSet(
    child: ChildLink,
    folders: ModelFolders,
    versions: Readonly<Record<ModelName, string>>,
    slowestMs?: number,
  ): Promise<ModelNumbers> {
    const set: number[] = []
    for (const name of MODELS) set.push(await loadOne(child, folders, name, versions[name], slowestMs))
    return set
  }

  async function loadOne(
    child: ChildLink,
    { available }: ModelFolders,
    name: ModelName,
    version: string,
    slowestMs: number | undefined,
  ): Promise<number> {
    const found = available.find(({ manifest }) => manifest.name === name && manifest.version === version)
    if (found === undefined) throw refusal(`there is no model ${name} ${version}`)
    const { sha256 } = found.manifest
    const key = `${name} ${version} ${sha256}`
    const number = numbers.get(key) ?? numbers.size
    numbers.set(key, number)
    const has = loaded.get(child) ?? new Set()
    loaded.set(child, has)
    if (has.has(number)) return number
    const request: LoadRequest = { number, manifestPath: found.manifestPath, sha256, ...(slowestMs !== undefined && { slowestMs }) }
    const answer: LoadAnswer = JSON.parse((await child.request(KIND.load, Buffer.from(JSON.stringify(request)))).toString())
    if (answer.refused !== undefined) throw refusal(`${name} ${version}: ${answer.refused}`)
    has.add(number)
    return number
  }

  function refusal(reason: string): CannotLoad {
    onRefused()
    log.error({ reason }, 'fraud_model_refused')
    return new CannotLoad(reason)
  }

  return {
    async unloadOthers(child, { champion, challenger = [] }) {
      const has = loaded.get(child) ?? new Set()
      const unused = [...has].filter((number) => !champion.includes(number) && !challenger.includes(number))
      if (unused.length === 0) return
      for (const number of unused) has.delete(number)
      const request: UnloadRequest = { numbers: unused }
      await child.request(KIND.unload, Buffer.from(JSON.stringify(request)))
    },
    async load(child, assignment, policy) {
      const folders = await readFolders()
      for (const { manifestPath, fault } of folders.broken) log.warn({ manifest: manifestPath, fault }, 'fraud_model_manifest_unusable')
      const versions = { ...SHIPPED_VERSIONS, ...assignment.champion }
      const champion = await loadSet(child, folders, versions)
      return { versions, champion, policy, ...(await challengerOf(assignment.challenger)) }

      async function challengerOf(given: ModelVersions | undefined): Promise<Pick<ActiveModels, 'challenger' | 'refusedChallenger'>> {
        if (given === undefined) return { challenger: undefined }
        try {
          return { challenger: await loadSet(child, folders, { ...versions, ...given }, CHALLENGERS_MODEL_MS) }
        } catch (error) {
          if (!(error instanceof CannotLoad)) throw error
          return { challenger: undefined, refusedChallenger: { versions: given, reason: error.message } }
        }
      }
    },
  }
}
