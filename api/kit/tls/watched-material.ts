import type { Registry } from 'prom-client'
import type { Logger } from '../logging.ts'
import { counter, gauge } from '../metrics.ts'
import { checkedMaterial, readContents, type TlsContents, type TlsFiles, type TlsMaterial } from './material.ts'

/** Certificates and keys that are reloaded when their files change. */
export interface WatchedMaterial {
  readonly current: TlsMaterial
  /** Calls the listener with the new material after every change. */
  onChange(listener: (material: TlsMaterial) => void): void
  close(): void
}

export interface WatchOptions {
  readonly files: TlsFiles
  readonly log: Logger
  readonly registry: Registry
  /** Epoch ms. */
  now(): number
  /** How often the files are read. Default 5 s. */
  readonly intervalMs?: number
}

/**
 * Interval between reads of the files. They are small, so reading them often costs little. Comparing their contents
 * also detects changes that file events miss, such as Kubernetes replacing a linked folder.
 */
const CHECK_INTERVAL_MS = 5_000
const MS_PER_SECOND = 1_000

/**
 * Reads the files now and at intervals. If later contents are not usable, the error is logged once, and the earlier
 * contents stay in use. This happens, for example, when a certificate is replaced a moment before its key. If the only
 * reason is that the new certificate has expired or is not valid yet, the new authorities are used nevertheless.
 * @throws Error that names the setting to correct, if the files are not usable at the start
 */
export async function watchMaterial({ files, log, registry, now, intervalMs = CHECK_INTERVAL_MS }: WatchOptions): Promise<WatchedMaterial> {
  const listeners: ((material: TlsMaterial) => void)[] = []
  let current = checkedMaterial(await readContents(files))
  let lastFailure: string | undefined
  let isReading = false
  const failures = counter(
    registry,
    'tls_files_not_usable_total',
    'Times that the TLS files became unusable, so that the earlier certificate and key stayed in use',
  )
  const help = "When the certificate of the API's TLS port expires"
  gauge(registry, 'tls_certificate_expires_timestamp_seconds', help, () => current.expiresAt / MS_PER_SECOND)
  const helpOfAuthorities = 'When the first of the authorities that sign client certificates expires'
  gauge(registry, 'tls_client_authority_expires_timestamp_seconds', helpOfAuthorities, () => current.authoritiesExpireAt / MS_PER_SECOND)

  /**
   * Returns why clients would not accept a certificate now; undefined if they would, or if they would not accept the
   * current one either. At the start, every certificate is used, because clients without TLS must be served anyway.
   */
  function faultOf({ validFrom, expiresAt }: TlsMaterial): string | undefined {
    const at = now()
    if (at < current.validFrom || at >= current.expiresAt) return undefined
    if (at >= expiresAt) return `API_TLS_CERT: the certificate expired at ${new Date(expiresAt).toISOString()}`
    if (at >= validFrom) return undefined
    return `API_TLS_CERT: the certificate is not valid before ${new Date(validFrom).toISOString()}; it is used from then on`
  }

  function use(next: TlsMaterial): void {
    if (areEqual(next.contents, current.contents)) return
    for (const listener of listeners) listener(next)
    current = next
    log.info({ expires_at: new Date(next.expiresAt).toISOString() }, 'tls_files_replaced')
  }

  async function check(): Promise<void> {
    try {
      const contents = await readContents(files)
      if (!areEqual(contents, current.contents)) {
        const next = checkedMaterial(contents)
        const fault = faultOf(next)
        // The removal of an authority must not wait until the certificate can be used.
        use(fault === undefined ? next : checkedMaterial({ ...current.contents, clientAuthorities: contents.clientAuthorities }))
        if (fault !== undefined) throw new Error(fault)
      }
      lastFailure = undefined
    } catch (error) {
      const reason = (error as Error).message
      if (reason === lastFailure) return
      lastFailure = reason
      failures.inc()
      log.error({ reason }, 'tls_files_not_usable')
    }
  }

  const timer = setInterval(() => {
    if (isReading) return
    isReading = true
    void check().finally(() => {
      isReading = false
    })
  }, intervalMs)
  timer.unref()

  return {
    get current() {
      return current
    },
    onChange: (listener) => void listeners.push(listener),
    close: () => clearInterval(timer),
  }
}

function areEqual(one: TlsContents, other: TlsContents): boolean {
  return (Object.keys(one) as (keyof TlsContents)[]).every((name) => one[name].equals(other[name]))
}
