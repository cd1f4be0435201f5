/**
 * A Hono server that sends the same JSON in response to every request. Argument: the length of the response in bytes.
 */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const length = Number(process.argv[2])
const value = { text: 'x'.repeat(length - '{"text":""}'.length) }
const app = new Hono().get('/*', (c) => c.json(value))
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
  process.stdout.write(`${JSON.stringify({ msg: 'constant_started', url: `http://127.0.0.1:${port}` })}\n`)
})
process.once('SIGTERM', () => server.close())
