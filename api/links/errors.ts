import { defineErrors } from '../kit/errors.ts'

/** The links service's own entries of the error catalogue. */
export const linksErrors = defineErrors({
  invalid_url: {
    status: 400,
    retryable: false,
    when: 'a URL to be shortened is missing, malformed or not allowed: http or https, at most 2,048 characters, a host with a dot or an address, no user name, not one of our own short domains',
    message: 'This is no URL that can be shortened.',
  },
  invalid_alias: {
    status: 400,
    retryable: false,
    when: 'a custom alias is not 3 to 10 of the characters 0-9 a-z A-Z - _',
    message: 'An alias has 3 to 10 of the characters 0-9 a-z A-Z - _.',
  },
  invalid_domain: {
    status: 400,
    retryable: false,
    when: 'the short domain asked for is none of ours',
    message: 'This short domain is not served here.',
  },
  url_not_found: {
    status: 404,
    retryable: false,
    when: 'there is no such short link, or it is deleted, switched off or expired',
    message: 'There is no such short link.',
  },
  alias_taken: {
    status: 409,
    retryable: false,
    when: 'the custom alias is reserved or was given away before; aliases are never given twice',
    message: 'This alias is taken: choose another one.',
  },
})
