import type { CancelTimer } from '../../runtime/runtime.ts'
import { BlobsUnavailableError } from '../blobs/blob-store.ts'
import type { LocalVersions } from './local.ts'
import type { FileVersion } from './version.ts'

/**
 * The version that currently answers requests. A request that reads `current` only once uses one version throughout.
 */
export interface VersionInForce<T> {
  /** Undefined while no version answers requests. */
  readonly current: { readonly version: FileVersion; readonly opened: T } | undefined
  /**
   * Requests a version; undefined means that no version should answer. Only the last requested version goes into force.
   */
  want(version: FileVersion | undefined): void
  /**
   * Resolves once no version is being fetched or opened. It does not wait for attempts that will follow after a pause.
   */
  settled(): Promise<void>
  close(): void
}

export interface VersionInForceOptions<T> {
  readonly local: Pick<LocalVersions, 'fetch'>
  /** Opens and checks the files. If it throws, the version is refused. */
  open(folder: string, version: FileVersion): T | Promise<T>
  /** Reports that this version answers requests from now on; undefined if none does. */
  onSwitch(version: FileVersion | undefined): void
  /**
   * Releases a version that became unnecessary while it was being opened, because another version or none was
   * requested, or because `close` was called.
   */
  onDiscarded(opened: T): void
  /** Reports a version that could not be used. The previous version continues to answer. */
  onRefused(version: FileVersion, error: Error, willRetry: boolean): void
  setTimer(ms: number, callback: () => void): CancelTimer
}

/** Pause before the next attempt after an error of the store or the disk. */
const RETRY_MS = 5_000

/** Fetches and opens the requested version while the current one answers. Switches once the new version is complete. */
export function versionInForce<T>(options: VersionInForceOptions<T>): VersionInForce<T> {
  const { local, open, onSwitch, onDiscarded, onRefused, setTimer } = options
  let current: { version: FileVersion; opened: T } | undefined
  let wanted: FileVersion | undefined
  let isClosed = false
  let isLoading = false
  let loading: Promise<void> = Promise.resolve()
  let cancelRetry: CancelTimer = () => {}

  async function load(): Promise<void> {
    let tried: string | undefined
    while (!isClosed && wanted !== undefined && wanted.version !== tried && wanted.version !== current?.version.version) {
      const version = wanted
      tried = version.version
      try {
        const opened = await open(await local.fetch(version), version)
        if (isClosed || wanted?.version !== version.version) {
          onDiscarded(opened)
          continue
        }
        current = { version, opened }
        onSwitch(version)
      } catch (error) {
        if (isClosed || wanted?.version !== version.version) continue
        const willRetry = mayHeal(error)
        onRefused(version, error as Error, willRetry)
        if (willRetry) cancelRetry = setTimer(RETRY_MS, start)
      }
    }
    isLoading = false
  }

  function start(): void {
    if (isLoading) return
    isLoading = true
    loading = load()
  }

  return {
    get current() {
      return current
    },
    want(version) {
      cancelRetry()
      wanted = version
      if (version === undefined && current !== undefined) {
        current = undefined
        onSwitch(undefined)
      }
      start()
    },
    settled: () => loading,
    close() {
      isClosed = true
      cancelRetry()
    },
  }
}

/**
 * Returns whether a retry may help. A retry may help if the store or the disk recovers, or if another process of the
 * host has removed a file, which can be fetched again. A retry does not help with damaged or wrong files.
 */
function mayHeal(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof BlobsUnavailableError || 'syscall' in cause) return true
  }
  return false
}
