import { expect, test } from 'vitest'
import { searchClient } from '../../../state/indexes/client.ts'
import type { Exchange, ExchangeOptions } from '../../../state/indexes/exchange.ts'
import { indexReader, NOT_COMPLETE } from '../../../state/indexes/reader.ts'
import { TargetUnavailableError } from '../../../state/unavailable.ts'

function answering(status: number, body: unknown) {
  const calls: { url: string; options: ExchangeOptions }[] = []
  const exchange: Exchange = async (url, options) => {
    calls.push({ url, options })
    return { status, text: typeof body === 'string' ? body : JSON.stringify(body) }
  }
  return { calls, exchange }
}

test('the credentials in the address are sent as a header, and never in the URL', async () => {
  const { calls, exchange } = answering(200, { ok: true })
  const client = searchClient('https://user:p%40ss@search.example:9243/path/', exchange)
  expect(await client.call({ method: 'POST', path: '/x/_search', body: { size: 1 } })).toEqual({ status: 200, body: { ok: true } })
  expect(calls[0].url).toBe('https://search.example:9243/path/x/_search')
  expect(calls[0].options.headers).toEqual({
    authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}`,
    'content-type': 'application/json',
  })
})

test.each([429, 500, 502, 503])(
  'a response with status %i is reported as an unavailable target, in a message without the query string',
  async (status) => {
    const client = searchClient('http://search', answering(status, 'busy').exchange)
    await expect(client.call({ method: 'GET', path: '/a?secret=1' })).rejects.toThrow(TargetUnavailableError)
    await expect(client.call({ method: 'GET', path: '/a?secret=1' })).rejects.toThrow(`answered GET /a with ${status}: busy`)
  },
)

test.each([400, 404, 409])('a response with status %i is returned to the caller', async (status) => {
  const client = searchClient('http://search', answering(status, { error: { type: 'x' } }).exchange)
  expect(await client.call({ method: 'GET', path: '/a' })).toEqual({ status, body: { error: { type: 'x' } } })
})

test('a server counts as unavailable if it cannot be reached or answers too late', async () => {
  const refused = searchClient('http://search', () => Promise.reject(new Error('refused')))
  await expect(refused.call({ method: 'GET', path: '/a' })).rejects.toThrow(/gave no usable answer to GET \/a: refused/)
  const slow = searchClient(
    'http://search',
    (_url, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  )
  await expect(slow.call({ method: 'GET', path: '/a', timeoutMs: 5 })).rejects.toThrow(TargetUnavailableError)
})

test('a search never returns the results of only part of an index', async () => {
  const search = (status: number, body: unknown) =>
    indexReader(searchClient('http://search', answering(status, body).exchange)).search('i', {})
  const whole = { timed_out: false, _shards: { failed: 0 }, hits: {} }
  expect(await search(200, whole)).toEqual(whole)
  expect(await search(404, {})).toBe(NOT_COMPLETE)
  await expect(search(200, { ...whole, timed_out: true })).rejects.toThrow(TargetUnavailableError)
  await expect(search(200, { ...whole, _shards: { failed: 1 } })).rejects.toThrow(TargetUnavailableError)
  await expect(search(400, { error: { type: 'parsing_exception', reason: 'unknown query' } })).rejects.toThrow(
    /parsing_exception: unknown query/,
  )
})

test('several searches in one request never return the results of only part of an index', async () => {
  const searchAll = (...responses: readonly unknown[]) => {
    const { exchange } = answering(200, { responses })
    return indexReader(searchClient('http://search', exchange)).searchAll('i', [{ size: 1 }, { size: 2 }])
  }
  const whole = { status: 200, timed_out: false, _shards: { failed: 0 }, hits: {} }
  const failed = (status: number) => ({ status, error: { type: 'some_exception', reason: 'some reason' } })
  expect(await searchAll(whole, { ...whole, hits: { total: 1 } })).toEqual([whole, { ...whole, hits: { total: 1 } }])
  expect(await searchAll(whole, failed(404))).toBe(NOT_COMPLETE)
  await expect(searchAll(whole, { ...whole, timed_out: true })).rejects.toThrow(TargetUnavailableError)
  await expect(searchAll({ ...whole, _shards: { failed: 1 } }, whole)).rejects.toThrow(TargetUnavailableError)
  await expect(searchAll(whole, failed(503))).rejects.toThrow(TargetUnavailableError)
  await expect(searchAll(whole, failed(429))).rejects.toThrow(TargetUnavailableError)
  await expect(searchAll(whole, failed(400))).rejects.toThrow(/some_exception: some reason/)
})
