import { RESET_PATH } from '../accounts/password-reset.ts'
import { formatTime } from '../core/time.ts'
import { type CliCommand, needed } from './command.ts'

/** Users of the dashboard. */
export const USER_COMMANDS: readonly CliCommand[] = [
  {
    name: 'users list',
    about: 'Lists the people who sign in to the dashboard.',
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
    about: 'Prints a link, good once and for a day, that sets the password of a user anew.',
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
