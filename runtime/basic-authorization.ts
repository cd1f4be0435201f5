/**
 * Returns the value of the `Authorization` header for the user and password of a URL, or undefined if the URL names no
 * user. The header is necessary because `fetch` rejects URLs that contain a user and password.
 */
export function basicAuthorization({ username, password }: Pick<URL, 'username' | 'password'>): string | undefined {
  if (username === '') return undefined
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}
