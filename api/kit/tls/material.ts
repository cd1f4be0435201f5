import { type KeyObject, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'

/** Paths of PEM files. */
export interface TlsFiles {
  readonly certificate: string
  readonly key: string
  readonly clientAuthorities: string
}

/** The contents of the files on disk. */
export type TlsContents = Readonly<Record<keyof TlsFiles, Buffer>>

/** Contents that a server can use. */
export interface TlsMaterial {
  readonly contents: TlsContents
  /**
   * The public keys of the authorities that sign client certificates, keyed by the bytes of the key as text. An
   * authority keeps its key when it renews its certificate.
   */
  readonly authorities: ReadonlyMap<string, KeyObject>
  /** Epoch ms at which the first of these authorities expires. */
  readonly authoritiesExpireAt: number
  /** Epoch ms from which the server's own certificate is valid, and at which it expires. */
  readonly validFrom: number
  readonly expiresAt: number
}

const SETTINGS: Readonly<Record<keyof TlsFiles, string>> = {
  certificate: 'API_TLS_CERT',
  key: 'API_TLS_KEY',
  clientAuthorities: 'API_TLS_CLIENT_CA',
}

/**
 * Also matches a certificate without its end, so that a half-written file is refused. OpenSSL would ignore such a
 * certificate, and would then trust only the authorities before it.
 */
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*(?:-----END CERTIFICATE-----)?/g

/** Reads the files. Throws an Error that names the setting whose file cannot be read. */
export async function readContents(files: TlsFiles): Promise<TlsContents> {
  const read = async (name: keyof TlsFiles) => {
    try {
      return await readFile(files[name])
    } catch (cause) {
      throw new Error(`${SETTINGS[name]}: the file cannot be read: ${(cause as Error).message}`, { cause })
    }
  }
  const [certificate, key, clientAuthorities] = await Promise.all([read('certificate'), read('key'), read('clientAuthorities')])
  return { certificate, key, clientAuthorities }
}

/** Checks the contents of the files. Throws an Error that names the setting to correct. */
export function checkedMaterial(contents: TlsContents): TlsMaterial {
  const [own] = certificatesOf(contents, 'certificate')
  // Without this check, Node would ignore a file that has no certificates, and would then trust no client at all.
  const trusted = certificatesOf(contents, 'clientAuthorities')
  const authorities = new Map(trusted.map(({ publicKey: key }) => [key.export({ type: 'spki', format: 'der' }).toString('base64'), key]))
  try {
    createSecureContext(secureContext(contents))
  } catch (cause) {
    throw new Error(`API_TLS_KEY: the key is not usable with API_TLS_CERT: ${(cause as Error).message}`, { cause })
  }
  const authoritiesExpireAt = Math.min(...trusted.map(({ validToDate }) => validToDate.getTime()))
  return {
    contents,
    authorities,
    authoritiesExpireAt,
    validFrom: own.validFromDate.getTime(),
    expiresAt: own.validToDate.getTime(),
  }
}

/** Returns those options of a TLS server that come from the files. */
export function secureContext({ certificate, key, clientAuthorities }: TlsContents) {
  return { cert: certificate, key, ca: clientAuthorities }
}

function certificatesOf(contents: TlsContents, name: 'certificate' | 'clientAuthorities'): X509Certificate[] {
  const found = contents[name].toString('latin1').match(PEM_CERTIFICATE) ?? []
  if (found.length === 0) throw new Error(`${SETTINGS[name]}: the file contains no certificate in PEM format`)
  try {
    return found.map((pem) => new X509Certificate(pem))
  } catch (cause) {
    throw new Error(`${SETTINGS[name]}: the file contains a malformed certificate: ${(cause as Error).message}`, { cause })
  }
}
