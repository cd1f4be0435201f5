import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { addressRanges } from '../../../api/kit/client-address.ts'
import { connectionGate } from '../../../api/kit/connections.ts'

/** Creates a gate, and a function that makes connections. Each connection records whether the gate destroyed it. */
function gated(total: number, perAddress: number) {
  const registry = new Registry()
  const gate = connectionGate({ total, perAddress, trusted: addressRanges(['10.0.0.0/8']), registry })
  function connect(remoteAddress: string) {
    const socket = Object.assign(new EventEmitter(), {
      remoteAddress,
      isCut: false,
      destroy() {
        socket.isCut = true
        socket.emit('close')
      },
    })
    gate.admit(socket as unknown as Socket)
    return socket
  }
  return { connect, metrics: () => registry.metrics() }
}

test('the connections of one address are limited, and other addresses can still connect', async () => {
  const { connect, metrics } = gated(100, 2)
  const first = connect('192.0.2.1')
  connect('::ffff:192.0.2.1')
  expect(connect('192.0.2.1').isCut).toBe(true)
  expect(connect('192.0.2.2').isCut).toBe(false)
  first.destroy()
  expect(connect('192.0.2.1').isCut).toBe(false)
  expect(await metrics()).toContain('http_connections_refused_total{limit="address"} 1')
  expect(await metrics()).toContain('http_connections_open 3')
})

test('all addresses of an IPv6 /64 network count as one address', () => {
  const { connect } = gated(100, 1)
  connect('2001:db8::1')
  expect(connect('2001:db8::ffff:2').isCut).toBe(true)
  expect(connect('2001:db8:0:1::1').isCut).toBe(false)
})

test('a trusted proxy is exempt from the limit per address, but counts towards the total', async () => {
  const { connect, metrics } = gated(3, 1)
  for (let index = 0; index < 3; index++) expect(connect('10.0.0.1').isCut).toBe(false)
  expect(connect('10.0.0.1').isCut).toBe(true)
  expect(connect('192.0.2.1').isCut).toBe(true)
  expect(await metrics()).toContain('http_connections_refused_total{limit="total"} 2')
})
