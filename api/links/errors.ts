import { ApiError, defineErrors, errors } from '../kit/errors.ts'

export const linksErrors = defineErrors({
  invalid_url: {
    status: 400,
    when: 'a URL is missing, malformed or not allowed: it must use http or https, have at most 2,048 characters, name a host with a dot or an IP address, have no user name or password, and not point to one of the short domains',
    message: 'This URL is not valid or not allowed. See details.',
  },
  invalid_alias: {
    status: 400,
    when: 'a custom alias does not consist of 3 to 10 characters from 0-9 a-z A-Z - _',
    message: 'An alias must consist of 3 to 10 characters from 0-9 a-z A-Z - _.',
  },
  invalid_domain: {
    status: 400,
    when: 'the requested short domain is not served here',
    message: 'This short domain is not served here.',
  },
  url_not_found: {
    status: 404,
    when: 'the short link does not exist or is deleted; a redirect also returns this error if the link is on another short domain, is switched off, or has expired without an `expired_url`',
    message: 'This short link does not exist.',
  },
  alias_taken: {
    status: 409,
    when: 'the custom alias is reserved or was used before; an alias is never used for a second link',
    message: 'This alias is taken. Choose another alias.',
  },
})

/** Creates the error for a caller who neither owns the link nor is an administrator. */
export function notOwner(): ApiError {
  return new ApiError(errors.forbidden, {
    message: 'This link does not belong to you. Only an administrator can manage links that were created without a token.',
  })
}
