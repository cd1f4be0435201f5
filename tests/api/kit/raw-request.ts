import { connect } from 'node:net'
import type { RunningServer } from '../../../api/kit/server.ts'

/**
 * Sends raw bytes, and returns everything that arrives until the server closes the connection.
 * @param rest returns further bytes to send after `bytes`
 */
export function raw(server: RunningServer, bytes: string | Buffer, rest?: () => Promise<string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1', () => {
      socket.write(bytes)
      rest?.().then((more) => socket.write(more), reject)
    })
    let text = ''
    socket.on('data', (data) => {
      text += data.toString('latin1')
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}
