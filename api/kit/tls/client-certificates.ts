import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { ShownCertificate } from '../auth/authorize.ts'
import type { Caller } from '../auth/verify.ts'
import { certificateNames, shownName } from './certificate-names.ts'
import type { TlsMaterial } from './material.ts'

export interface ClientCertificates {
  /**
   * Remembers a new connection and the TLS material that it was opened with. OpenSSL has checked the client's
   * certificate against the authorities in this material.
   */
  opened(socket: Socket, material: TlsMaterial): void
  /**
   * Returns what the client certificate of a connection proves; undefined if the connection has no client certificate.
   */
  of(socket: Socket): ShownCertificate | undefined
}

export interface ClientCertificatesOptions {
  /** Returns the certificates in use. */
  material(): TlsMaterial
  /**
   * A client certificate must have at least one of these names. If the list is empty, every certificate from the
   * authorities is accepted.
   */
  readonly names: readonly string[]
  /** Epoch ms. */
  now(): number
}

/** A connection with a client certificate. The certificate stays the same until the connection closes. */
interface Connection {
  readonly certificate: X509Certificate
  readonly caller: Caller
  readonly names: readonly string[]
  /** Why OpenSSL did not accept the certificate; undefined if it did. */
  readonly refused: string | undefined
  /** Epoch ms. */
  readonly expiresAt: number
  /** The TLS material that the certificate was last checked against, and whether the certificate was still trusted. */
  compared: { readonly material: TlsMaterial; readonly isTrusted: boolean }
}

const NO_SCOPES: ReadonlySet<string> = new Set()
const EXPIRED = 'it has expired'
const NOT_YET_VALID = 'it is not valid yet'
const UNTRUSTED = 'its issuer is not trusted here'
/** Reasons to show to the owner of a certificate, keyed by OpenSSL's error code. */
const REASONS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: EXPIRED,
  CERT_NOT_YET_VALID: NOT_YET_VALID,
  INVALID_PURPOSE: 'it is not meant for clients',
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
}
/** Reasons to show instead if the code is about an authority, not about the client's own certificate. */
const REASONS_OF_ISSUERS: ReadonlyMap<string, string> = new Map([
  [EXPIRED, 'the certificate of its issuer has expired'],
  [NOT_YET_VALID, 'the certificate of its issuer is not valid yet'],
])

/**
 * Determines what client certificates prove. OpenSSL verifies a certificate only once, when the connection is opened. A
 * connection may stay open for a long time. Each request therefore checks again that the certificate has not expired,
 * and that its authority has not been withdrawn.
 */
export function clientCertificates({ material, names, now }: ClientCertificatesOptions): ClientCertificates {
  const connections = new WeakMap<Socket, Connection>()

  function opened(socket: Socket, openedWith: TlsMaterial): void {
    const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined
    if (certificate === undefined) return
    const { authorized, authorizationError } = socket as TLSSocket
    const shown = certificateNames(certificate)
    connections.set(socket, {
      certificate,
      caller: { kind: 'certificate', subject: shownName(shown, certificate), scopes: NO_SCOPES, username: undefined },
      names: shown,
      refused: authorized ? undefined : reasonOf(authorizationError, certificate, now()),
      expiresAt: certificate.validToDate.getTime(),
      compared: { material: openedWith, isTrusted: true },
    })
  }

  /**
   * Returns whether a certificate is still trusted under the authorities in force. Node does not show which authority
   * OpenSSL verified the certificate with. Once any authority is withdrawn, a connection is therefore trusted only if
   * an authority in force has signed its certificate directly.
   */
  function isStillTrusted(connection: Connection): boolean {
    const [{ material: before, isTrusted }, current] = [connection.compared, material()]
    if (before === current || !isTrusted) return isTrusted
    const isAnyWithdrawn = [...before.authorities.keys()].some((key) => !current.authorities.has(key))
    const isSigned = () => [...current.authorities.values()].some((key) => connection.certificate.verify(key))
    connection.compared = { material: current, isTrusted: !isAnyWithdrawn || isSigned() }
    return connection.compared.isTrusted
  }

  function of(socket: Socket): ShownCertificate | undefined {
    const connection = connections.get(socket)
    if (connection === undefined) return undefined
    const { refused, expiresAt, caller, names: shown } = connection
    if (refused !== undefined) return { refused }
    if (now() >= expiresAt) return { refused: EXPIRED }
    if (!isStillTrusted(connection)) return { refused: 'the trusted authorities have changed; open a new connection', mayReconnect: true }
    if (names.length > 0 && !shown.some((name) => names.includes(name))) return { refused: 'its name is not accepted here' }
    return { caller }
  }

  return { opened, of }
}

/**
 * Returns why a certificate was not accepted. Node passes the error code to a server as text, although its type
 * definitions declare an Error. The code does not say which certificate of the chain it is about. If the code says that
 * a certificate has expired or is not valid yet, although the client's own certificate is valid now, it is about the
 * certificate of an authority. A new client certificate would then not help.
 */
function reasonOf(error: unknown, { validFromDate, validToDate }: X509Certificate, now: number): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : error
  const reason = REASONS[String(code)] ?? 'it is not valid'
  const isOwn = now < validFromDate.getTime() || now >= validToDate.getTime()
  return isOwn ? reason : (REASONS_OF_ISSUERS.get(reason) ?? reason)
}
