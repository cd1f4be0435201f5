import { authSettings } from '../../api/kit/auth/settings.ts'
import { type Environment, readSettings } from '../../settings/read.ts'

/** Required claims of tokens signed with this machine's key, and the folder of the key. */
export interface DevelopmentAuth {
  readonly issuer: string
  readonly audience: string
  readonly home: string
}

/**
 * Reads the settings of development tokens.
 * @throws Error in production, because production has no development key
 */
export function readDevelopmentAuth(env: Environment = process.env): DevelopmentAuth {
  const development = { ...env, AUTH_JWKS_URL: undefined, AUTH_JWKS_FILE: undefined, NODE_ENV: 'development' }
  if (env.NODE_ENV === 'production') throw new Error('NODE_ENV is production, where development tokens are neither issued nor accepted')
  return readSettings(development, ({ read, surroundings }) => {
    const auth = read(authSettings)
    return () => {
      const { issuer, audience } = auth.value()
      return { issuer, audience, home: surroundings.home }
    }
  })
}
