import { type RouteConfig, z } from '@hono/zod-openapi'
import { scopesOf } from './auth/authorize.ts'
import { type ErrorDefinition, errors } from './errors.ts'
import { IDEMPOTENCY_KEY_PATTERN } from './input.ts'
import { RATE_LIMIT_HEADERS } from './rate-limits.ts'
import type { AnswerSpec, AuthRule, BoundRoute, DocumentedRoute } from './route.ts'

export const SECURITY_SCHEME = 'bearer'
export const CERTIFICATE_SCHEME = 'mutualTLS'

const ErrorSchema = z
  .object({
    error: z.string().openapi({ description: 'Error code for programs. The meaning of a code never changes.', example: 'invalid_request' }),
    message: z.string().openapi({ description: 'What went wrong and how to correct it, for people.' }),
    request_id: z.string().openapi({ description: "The id of the request. X-Request-Id and the server's log contain the same id." }),
    details: z
      .array(z.object({ path: z.string().openapi({ example: 'query.limit' }), message: z.string() }))
      .optional()
      .openapi({ description: 'The invalid parts of the request.' }),
    command_id: z
      .string()
      .optional()
      .openapi({ description: 'On 503, the request may or may not have been executed. Repeat it with this value as its Idempotency-Key.' }),
  })
  .openapi('Error')

const IdempotencyHeaders = z.object({
  'Idempotency-Key': z.string().regex(IDEMPOTENCY_KEY_PATTERN).optional().openapi({
    description:
      'A key that you choose for this request. If you repeat the request with the same key within 24 hours, it is not executed again, and you get the first answer.',
  }),
})

const VersionHeaders = z.object({
  'If-Match': z.string().optional().openapi({
    description: 'The version that the caller expects, such as `"3"`. If the current version is different, the request changes nothing.',
  }),
})

const DerivingHeaders = z.object({
  'Idempotency-Key': IdempotencyHeaders.shape['Idempotency-Key'].openapi({
    description:
      'A key that you choose for this request. If you repeat the request with the same key within a day, everything that it creates is counted only once.',
  }),
})

function headersOf({ idempotent, versioned, derivesIds }: BoundRoute['definition']) {
  if (derivesIds === true) return DerivingHeaders
  if (versioned !== true) return idempotent === true ? IdempotencyHeaders : undefined
  return idempotent === true ? IdempotencyHeaders.extend(VersionHeaders.shape) : VersionHeaders
}

/**
 * Returns the errors that the kit itself adds to a route. If the route has a path parameter, the errors include the 404
 * for a value with which the path matches no route, such as an empty value.
 */
function kitErrors(definition: BoundRoute['definition'], isLimited: boolean): ErrorDefinition[] {
  const takesInput =
    definition.query !== undefined || definition.params !== undefined || definition.body !== undefined || definition.streamed !== undefined
  return [
    ...(takesInput || definition.idempotent || definition.derivesIds || definition.versioned ? [errors.invalid_request] : []),
    ...(definition.idempotent ? [errors.idempotency_conflict] : []),
    errors.invalid_encoding,
    ...(definition.auth.kind === 'open' ? [] : [errors.unauthorized, errors.forbidden]),
    ...(definition.params === undefined ? [] : [errors.not_found]),
    ...(definition.body === undefined && definition.streamed === undefined
      ? []
      : [errors.content_too_large, errors.unsupported_media_type]),
    ...(isLimited ? [errors.invalid_api_key, errors.rate_limit_exceeded] : []),
    errors.method_not_allowed,
    errors.request_timeout,
    errors.headers_too_large,
    errors.internal_error,
    errors.unavailable,
  ]
}

/**
 * Describes an operation for OpenAPI, with the schemas that validate its requests.
 * @param tag the name of the service
 * @param isLimited whether rate limits cover the path
 */
export function describeRoute(tag: string, { definition, gateways }: BoundRoute, isLimited: boolean): RouteConfig {
  const described = describe(tag, definition, [...definition.errors, ...kitErrors(definition, isLimited)], isLimited)
  return gateways === undefined ? described : { ...described, description: `${definition.description}\n\n${GATEWAYS_NOTE}` }
}

export function describeDocumented(tag: string, { definition, servers }: DocumentedRoute): RouteConfig {
  return { ...describe(tag, definition, definition.errors, false), servers: servers.map((url) => ({ url })) }
}

/** Added to the description of a route that admits gateways, because OpenAPI has no security scheme for addresses. */
const GATEWAYS_NOTE =
  'The operator has configured addresses of gateways. Requests from these addresses need neither a token nor a certificate.'

function describe(
  tag: string,
  definition: BoundRoute['definition'],
  refusals: readonly ErrorDefinition[],
  isLimited: boolean,
): RouteConfig {
  const { query, params, body } = definition
  const headers = headersOf(definition)
  const rateHeaders = isLimited ? RATE_LIMIT_HEADERS : {}
  return {
    method: definition.method,
    path: definition.path,
    operationId: definition.operationId,
    summary: definition.summary,
    description: definition.description,
    tags: [tag],
    security: securityOf(definition.auth),
    request: {
      ...(query && { query }),
      ...(params && { params }),
      ...(headers && { headers }),
      ...(definition.streamed && { body: { required: definition.streamed.isOptional !== true, content: definition.streamed.content } }),
      ...(body && { body: { required: true, content: { 'application/json': { schema: body, example: definition.bodyExample } } } }),
    },
    responses: {
      ...Object.fromEntries(Object.entries(definition.answers).map(([status, answer]) => [status, describeAnswer(answer, rateHeaders)])),
      ...describeErrors(refusals, definition.htmlErrors === true),
    },
  }
}

function securityOf(auth: AuthRule): Record<string, string[]>[] {
  switch (auth.kind) {
    case 'open':
      return []
    case 'optional':
      return [{}, { [SECURITY_SCHEME]: [] }]
    case 'user':
      return [{ [SECURITY_SCHEME]: [] }]
    case 'scope':
      return [
        ...scopesOf(auth).map((scope) => ({ [SECURITY_SCHEME]: [scope] })),
        ...(auth.orCertificate === true ? [{ [CERTIFICATE_SCHEME]: [] }] : []),
      ]
  }
}

function headerSchemas(descriptions: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [name, { description, schema: { type: 'string' as const } }]),
  )
}

function describeAnswer(answer: AnswerSpec, rateHeaders: Readonly<Record<string, string>>) {
  const mediaType = answer.mediaType ?? 'application/json'
  const content = { schema: answer.schema ?? z.string(), example: answer.example }
  const hasBody = answer.schema !== undefined || answer.mediaType !== undefined
  return {
    description: answer.description,
    headers: headerSchemas({ 'X-Request-Id': 'The id of this request.', ...rateHeaders, ...answer.headers }),
    ...(hasBody && { content: Object.fromEntries([mediaType, ...(answer.otherMediaTypes ?? [])].map((type) => [type, content])) }),
  }
}

/** Returns one response per status. The description of a response lists all error codes with this status. */
function describeErrors(definitions: readonly ErrorDefinition[], hasPages: boolean) {
  const byStatus = Map.groupBy(new Set(definitions), (definition) => definition.status)
  return Object.fromEntries([...byStatus].map(([status, group]) => [status, describeErrorStatus(status, group, hasPages)]))
}

function describeErrorStatus(status: number, group: readonly ErrorDefinition[], hasPages: boolean) {
  const waits: Record<string, string> = status === 429 || status === 503 ? { 'Retry-After': 'Seconds to wait.' } : {}
  return {
    description: group.map((definition) => `\`${definition.code}\`: ${definition.when}`).join('\n\n'),
    headers: headerSchemas({ 'X-Request-Id': 'The id of this request.', ...waits }),
    content: {
      'application/json': {
        schema: ErrorSchema,
        examples: Object.fromEntries(group.map((definition) => [definition.code, { value: exampleOf(definition) }])),
      },
      ...(hasPages && { 'text/html': { schema: z.string() } }),
    },
  }
}

function exampleOf(definition: ErrorDefinition) {
  return { error: definition.code, message: definition.message, request_id: '6f0a9a52-8f0e-4c3e-9a0e-5f7a1c1d2e3f' }
}
