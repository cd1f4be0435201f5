import { constants } from 'node:crypto'
import type { ServerOptions as HttpOptions, RequestListener } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import type { Registry } from 'prom-client'
import type { Logger } from '../logging.ts'
import { counter } from '../metrics.ts'
import type { ClientCertificates } from './client-certificates.ts'
import { secureContext, type TlsMaterial } from './material.ts'
import type { WatchedMaterial } from './watched-material.ts'

/** The API's own certificate and the certificates of clients. */
export interface ListenerTls {
  readonly material: Pick<WatchedMaterial, 'current' | 'onChange'>
  readonly clients: Pick<ClientCertificates, 'opened'>
}

export interface SecureServerOptions {
  /** The options of a plain server. `headersTimeout` also limits the handshake. */
  readonly serverOptions: HttpOptions & { readonly headersTimeout: number }
  readonly onRequest: RequestListener
  readonly tls: ListenerTls
  readonly log: Logger
  readonly registry: Registry
}

/** A connection whose handshake is not finished. */
interface Handshake {
  readonly socket: Socket
  /** The certificates in use when the handshake began. */
  readonly material: TlsMaterial
}

export interface SecureServer {
  readonly server: Server
  /**
   * Closes connections whose handshake is not finished. Closing the server does not close them, because Node's HTTP
   * server tracks a connection only after its handshake is finished.
   */
  cutHandshakes(): void
}

/** Error codes for peers that end the connection during the handshake, as health checks of load balancers do. */
const PEER_LEFT = new Set(['ECONNRESET', 'EPIPE'])

/**
 * Creates a server that asks for client certificates. It also accepts connections with a bad certificate or no
 * certificate, because callers with a token need no certificate and each route decides which proofs it accepts. New
 * connections use the newest certificates of the API. Open connections continue unchanged.
 */
export function secureServer({ serverOptions, onRequest, tls, log, registry }: SecureServerOptions): SecureServer {
  const { material, clients } = tls
  const tlsOptions = { requestCert: true, rejectUnauthorized: false, handshakeTimeout: serverOptions.headersTimeout }
  const server = createServer({ ...serverOptions, ...contextOptions(material.current), ...tlsOptions }, onRequest)
  const failures = counter(registry, 'tls_handshakes_failed_total', 'Failed TLS handshakes, except those that the peer aborted')
  /** Connections whose handshake is not finished, keyed by the addresses and ports of both ends. */
  const open = new Map<string, Handshake>()

  material.onChange((changed) => server.setSecureContext(contextOptions(changed)))
  server.on('connection', (socket: Socket) => {
    const ends = endsOf(socket)
    open.set(ends, { socket, material: material.current })
    socket.once('close', () => open.delete(ends))
  })
  server.on('secureConnection', (socket) => {
    const ends = endsOf(socket)
    const handshake = open.get(ends)
    open.delete(ends)
    if (handshake !== undefined) clients.opened(socket, handshake.material)
  })
  server.on('tlsClientError', (error: NodeJS.ErrnoException) => {
    if (PEER_LEFT.has(error.code ?? '')) return
    failures.inc()
    log.info({ cause: error.code ?? error.message }, 'tls_handshake_failed')
  })

  return {
    server,
    cutHandshakes() {
      for (const { socket } of open.values()) socket.destroy()
    },
  }
}

/**
 * Returns the options of the TLS context. TLS sessions are never resumed from tickets: a resumed connection would keep
 * the verdict about its client certificate even after the authority has been withdrawn.
 */
function contextOptions({ contents }: TlsMaterial) {
  return { ...secureContext(contents), minVersion: 'TLSv1.2' as const, secureOptions: constants.SSL_OP_NO_TICKET }
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
