/** Accounts, plans and billing. */
import { anyText, listOf, onOff, optionalText, secret, setting, url, whole } from './setting.ts'

export const ACCOUNTS_SETTINGS = {
  plans: setting('PLANS', 'JSON file that adds or changes plans.', null, optionalText),
  ledgerDays: setting('LEDGER_DAYS', 'Days that single charges are kept.', 40, whole(1, 3_650)),
  upgradeUrl: setting(
    'UPGRADE_URL',
    'Where errors send a caller whose plan does not suffice; off is the page /plans.',
    null,
    {
      allowed: 'an http(s) address, or off',
      read: (value: string): string | null | undefined =>
        value === 'off' ? null : /^https?:/.test(value) ? url(value) : undefined,
    },
  ),
  signUp: setting('SIGN_UP', 'Whether visitors may sign up in the dashboard.', true, onOff),
  signUpPlan: setting('SIGN_UP_PLAN', 'Plan of accounts that sign up by themselves.', 'free', anyText),
  billingSecret: secret(
    setting('BILLING_SECRET', 'Signing secret of the billing webhook (Stripe); off without it.', null, {
      allowed: 'at least 16 characters',
      read: (value: string): string | null | undefined => (value.length >= 16 ? value : undefined),
    }),
  ),
  billingPrices: setting(
    'BILLING_PRICES',
    'Which price of the payment provider buys which plan.',
    [] as string[],
    listOf('pairs such as price_123=developer', (value) => (/^[^=]+=[^=]+$/.test(value) ? value : undefined)),
  ),
} as const
