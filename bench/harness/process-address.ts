import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/**
 * Listens on a free port until the process ends. Other workers of the group connect to the port: when it refuses
 * connections, the process has ended.
 * @returns the HTTP address
 */
export async function processAddress(): Promise<string> {
  const listener = createServer((socket) => void socket.on('error', () => undefined).destroy()).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  listener.unref()
  return `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
}
