import { RESET_PATH } from '../accounts/password-reset.ts'
import { formatTime } from '../core/time.ts'
import { type CliCommand, needed } from './command.ts'

/** Users of the dashboard. */
export const USER_COMMANDS: readonly CliCommand[] = [
  {
    name: 'users list',
    about: 'Lists the users of the dashboard.',
    options: {},
    async run({ users, output }) {
      const rows = (await users.list()).map(({ id, email, role, accountId, createdAtMs }) => ({
        ...{ id, email, role, account: accountId, created_at: formatTime(createdAtMs) },
      }))
      output.print(rows)
    },
  },
  {
    name: 'users reset',
    about: 'Prints a link to reset the password of a user; it works once, for a day.',
    options: { email: { about: 'E-mail address that the user signs in with.', required: true } },
    async run({ values, users, output, serviceUrl }) {
      const { token, user, expiresAtMs } = await users.issueReset(needed(values, 'email'))
      output.print({
        email: user.email,
        link: `${serviceUrl()}/${RESET_PATH}${token}`,
        expires_at: formatTime(expiresAtMs),
      })
    },
  },
]
