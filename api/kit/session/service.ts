import { z } from '@hono/zod-openapi'
import { decodeJwt } from 'jose'
import { jsonAnswer, noContent } from '../answer.ts'
import type { Caller, TokenVerifier } from '../auth/verify.ts'
import { ApiError, errors } from '../errors.ts'
import { PRIVATE } from '../headers.ts'
import { sharedFiles } from '../page/shared.ts'
import { bind, defineRoute } from '../route.ts'
import type { ServiceRoutes } from '../service-routes.ts'
import { LAST_TIME_MS } from '../times.ts'
import { MAX_COOKIE_TOKEN, type SessionCookie } from './cookie.ts'
import { csrfTokenOf } from './csrf.ts'

const PATH = '/api/v1/session'
const MS_PER_SECOND = 1_000
/** Maximum size of a body. It has room for the longest token and the JSON around it. */
const MAX_BODY_BYTES = 8_192

const Session = z
  .object({
    subject: z.string().openapi({ description: 'The user for whom the token was issued.', example: '42' }),
    username: z.string().nullable(),
    scopes: z.array(z.string()).openapi({ example: ['admin'] }),
    expires_at: z.string().openapi({ description: 'When the token expires and the session ends.', example: '2026-01-15T12:00:00.000Z' }),
    csrf_token: z.string().openapi({ description: 'Send this token in the header `X-CSRF-Token` of all requests except GET and HEAD.' }),
  })
  .openapi('Session')

const SignIn = z
  .object({
    token: z
      .string()
      .min(1)
      .max(MAX_COOKIE_TOKEN)
      .openapi({
        description: `A JWT, as for \`Authorization: Bearer\`. It can have at most ${MAX_COOKIE_TOKEN} characters, because browsers do not keep larger cookies.`,
      }),
  })
  .openapi('SignIn')

const signInRoute = defineRoute({
  method: 'post',
  path: PATH,
  operationId: 'signIn',
  summary: 'Sign in from a page',
  description:
    'Stores the token in a cookie that scripts cannot read. Later requests from this browser then need no Authorization header. The request is refused if it comes from a page of another origin.',
  auth: { kind: 'open' },
  body: SignIn,
  bodyExample: { token: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJl' },
  maxBodyBytes: MAX_BODY_BYTES,
  answers: {
    201: {
      description: 'The browser is signed in until the token expires.',
      schema: Session,
      headers: { 'Set-Cookie': 'The session cookie, with HttpOnly and SameSite=Strict, and with Secure if the public URL uses https.' },
    },
  },
  errors: [errors.unauthorized, errors.forbidden],
})

const readSessionRoute = defineRoute({
  method: 'get',
  path: PATH,
  operationId: 'readSession',
  summary: 'Read the session of this browser',
  description:
    'Returns the subject, the scopes and the CSRF token of the session. Pages call this when they load, because scripts cannot read the cookie.',
  auth: { kind: 'optional' },
  answers: {
    200: { description: 'Who is signed in.', schema: Session },
    204: { description: 'The request has no session.' },
  },
  errors: [],
})

const signOutRoute = defineRoute({
  method: 'delete',
  path: PATH,
  operationId: 'signOut',
  summary: 'Sign out',
  description: 'Deletes the cookie. The token itself remains valid until it expires, so anyone who has a copy can still use it.',
  // The token is not verified, so that people can sign out even if the keys that verify tokens cannot be loaded.
  auth: { kind: 'open' },
  answers: { 204: { description: 'The browser is signed out.', headers: { 'Set-Cookie': 'Deletes the cookie.' } } },
  errors: [errors.forbidden],
})

export interface SessionServiceOptions {
  readonly verifier: TokenVerifier
  readonly cookie: SessionCookie
}

/** Creates the routes of sessions, and the route of the files that pages share. */
export function sessionService({ verifier, cookie }: SessionServiceOptions): ServiceRoutes {
  return {
    name: 'pages',
    description: 'Signing in, and the scripts and styles that HTML pages share.',
    // A session may have any subject. The routes that use the session check the form of user ids.
    isUserId: () => true,
    routes: [
      bind(signInRoute, async ({ body, isForeignPage }) => {
        // Another site could otherwise sign a visitor in with a token of its own, and then read what the visitor
        // enters.
        if (isForeignPage()) throw new ApiError(errors.forbidden, { message: 'Sign in from a page of this server.' })
        const caller = await verifier.verify(body.token)
        const headers = { ...PRIVATE, 'Set-Cookie': cookie.keep(body.token, expiryOf(body.token)) }
        return jsonAnswer(201, describeSession(caller, body.token), headers)
      }),
      bind(readSessionRoute, ({ caller, session }) =>
        session === undefined ? noContent() : jsonAnswer(200, describeSession(caller!, session.token), PRIVATE),
      ),
      bind(signOutRoute, ({ session }) => {
        if (session?.refusal !== undefined) throw session.refusal
        return { ...noContent(), headers: { 'Set-Cookie': cookie.clear } }
      }),
      sharedFiles(),
    ],
    errors: [],
    probes: [],
  }
}

/**
 * Returns the expiry of a token, epoch ms. An expiry that no Date can represent is replaced by the latest time that a
 * Date can represent.
 * @param token a verified token. Verified tokens always have `exp`.
 */
function expiryOf(token: string): number {
  return Math.min(decodeJwt(token).exp! * MS_PER_SECOND, LAST_TIME_MS)
}

function describeSession({ subject, username, scopes }: Caller, token: string): z.input<typeof Session> {
  return {
    subject,
    username: username ?? null,
    scopes: [...scopes],
    expires_at: new Date(expiryOf(token)).toISOString(),
    csrf_token: csrfTokenOf(token),
  }
}
