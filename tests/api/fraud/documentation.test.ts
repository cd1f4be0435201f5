import { expect, test } from 'vitest'
import { fraudApi } from './harness.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
}

interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

test('the OpenAPI document allows null wherever a request may contain null, so that generated clients can send it', async () => {
  const { app } = await fraudApi()
  const { schemas } = ((await (await app.request('/openapi.json')).json()) as OpenApi).components
  const typeOf = (name: string, ...path: readonly string[]) =>
    path.reduce((schema: Schema | undefined, field) => schema?.properties?.[field], schemas[name])?.type
  expect([
    typeOf('ScoreRequest', 'payer', 'account_age_days'),
    typeOf('ScoreRequest', 'session', 'time_since_login_sec'),
    typeOf('NewFraudRule', 'expires_at'),
    typeOf('FraudRuleChange', 'expires_at'),
    typeOf('NewBlocklistEntry', 'ttl_hours'),
  ]).toEqual([
    ['integer', 'null'],
    ['integer', 'null'],
    ['string', 'null'],
    ['string', 'null'],
    ['integer', 'null'],
  ])
  expect(typeOf('ScoreRequest', 'payer')).toBe('object')
})
