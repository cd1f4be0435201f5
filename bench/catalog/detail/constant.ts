/**
 * A Hono server that answers every request with the same JSON. `run.ts` starts it with the length of the answer as an
 * argument.
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
