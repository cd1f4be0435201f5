import { authSettings } from '../../api/kit/auth/settings.ts'
import { type Environment, readSettings } from '../../settings/read.ts'

/** What tokens of this machine's own key must carry, and where the key lies. */
export interface DevelopmentAuth {
  readonly issuer: string
  readonly audience: string
  readonly home: string
}

/** Refused in production: there is no development key there. */
export function readDevelopmentAuth(env: Environment = process.env): DevelopmentAuth {
  const development = { ...env, AUTH_JWKS_URL: undefined, AUTH_JWKS_FILE: undefined, NODE_ENV: 'development' }
  if (env.NODE_ENV === 'production') throw new Error('NODE_ENV is production: development tokens are neither made nor accepted there')
  return readSettings(development, ({ read, surroundings }) => {
    const auth = read(authSettings)
    return () => {
      const { issuer, audience } = auth.value()
      return { issuer, audience, home: surroundings.home }
    }
  })
}
