/** Mistyped settings, and secrets that somebody could guess. */
import { type Advice, type DoctorCheck, NOTHING } from './check.ts'

const PLACEHOLDERS =
  /change.?me|password|passwort|secret|example|default|tapeline|postgres|admin|12345|qwert|xxxx/i
/** Random text of 16 or more characters has at least this many distinct ones; repetitive text has far fewer. */
const MIN_DISTINCT = 8

function isGuessable(text: string): boolean {
  return PLACEHOLDERS.test(text) || new Set(text).size < MIN_DISTINCT
}

export const settings: DoctorCheck = {
  name: 'settings',
  run: ({ warnings }) =>
    warnings.map((finding) => ({ finding, todo: 'Correct its name, or remove it (tapeline config).' })),
}

export const secrets: DoctorCheck = {
  name: 'secrets',
  run({ config }) {
    const given: [string, string | null][] = [
      ['TAPELINE_SECRET', config.secret],
      ['TAPELINE_METRICS_TOKEN', config.metricsToken],
      ['TAPELINE_BILLING_SECRET', config.billingSecret],
    ]
    return given.flatMap(([name, value]): Advice[] =>
      value === null || !isGuessable(value)
        ? []
        : [{ finding: `${name} can be guessed.`, todo: `Make one with openssl rand -base64 32.` }],
    )
  },
}

export const storePassword: DoctorCheck = {
  name: 'store password',
  run({ storePassword: password }) {
    if (password === undefined || !isGuessable(password)) return NOTHING
    const todo = 'Give the database user another one: ALTER ROLE … PASSWORD.'
    return [{ finding: 'The password of the PostgreSQL user can be guessed.', todo }]
  },
}
