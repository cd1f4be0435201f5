import type { AddressInfo, Server } from 'node:net'

export interface ListenPlace {
  readonly host: string
  /** 0 chooses a free port. */
  readonly port: number
  /** Name of the setting for the port. If the port is in use, the error message names this setting. */
  readonly setting: string
  /** The scheme of the server's URL. Default http. */
  readonly scheme?: 'http' | 'https'
}

/**
 * Opens the port.
 * @returns the server's base URL
 */
export async function listen(server: Server, { host, port, setting, scheme = 'http' }: ListenPlace): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const cure = error.code === 'EADDRINUSE' ? `port ${port} on ${host} is in use: stop what uses it or set ${setting}` : error.message
      reject(new Error(cure, { cause: error }))
    })
    server.listen(port, host, resolve)
  })
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`
}
