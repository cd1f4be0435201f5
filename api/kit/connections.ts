import type { Socket } from 'node:net'
import type { Registry } from 'prom-client'
import { clientAddress, isFrom, limitedAddress, type TrustedProxies } from './client-address.ts'
import { counter, gauge } from './metrics.ts'

export interface ConnectionLimits {
  /**
   * Maximum number of connections to all API ports of a process together. Each connection costs a file descriptor and
   * about 10 KB.
   */
  readonly total: number
  /**
   * Maximum number of connections from one address, or from one IPv6 /64. The limit does not apply to trusted proxies,
   * because many callers connect through each of them.
   */
  readonly perAddress: number
}

/** Limits the open connections on the API ports of a process. The operations port has its own limit. */
export interface ConnectionGate {
  /**
   * Counts a connection until it closes. If a limit is reached, destroys the connection without sending anything,
   * because refusals must be as cheap as possible.
   */
  admit(socket: Socket): void
}

export interface ConnectionGateOptions extends ConnectionLimits {
  readonly trusted: TrustedProxies
  readonly registry: Registry
}

export function connectionGate({ total, perAddress, trusted, registry }: ConnectionGateOptions): ConnectionGate {
  const byAddress = new Map<string, number>()
  let open = 0
  const refused = counter(
    registry,
    'http_connections_refused_total',
    'Refused connections, by the limit that was reached: address or total',
    'limit',
  )
  gauge(registry, 'http_connections_open', 'Open connections, including idle ones', () => open)

  function exceeded(address: string | undefined): 'address' | 'total' | undefined {
    if (address !== undefined && (byAddress.get(address) ?? 0) >= perAddress) return 'address'
    return open >= total ? 'total' : undefined
  }

  function leave(address: string | undefined): void {
    open--
    if (address === undefined) return
    const left = byAddress.get(address)! - 1
    if (left === 0) byAddress.delete(address)
    else byAddress.set(address, left)
  }

  return {
    admit(socket) {
      const remote = socket.remoteAddress
      const address = isFrom(remote, trusted) ? undefined : limitedAddress(clientAddress(remote, undefined, trusted))
      const limit = exceeded(address)
      if (limit !== undefined) {
        refused.inc({ limit })
        socket.destroy()
        return
      }
      open++
      if (address !== undefined) byAddress.set(address, (byAddress.get(address) ?? 0) + 1)
      socket.once('close', () => leave(address))
    },
  }
}
