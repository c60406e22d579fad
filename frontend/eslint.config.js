import js from '@eslint/js'
import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript'
import checkFile from 'eslint-plugin-check-file'
import { importX } from 'eslint-plugin-import-x'
import jsxA11y from 'eslint-plugin-jsx-a11y'
import reactHooks from 'eslint-plugin-react-hooks'
import globals from 'globals'
import { readdirSync } from 'node:fs'
import tseslint from 'typescript-eslint'

const MAX_LINES = 250

/** Everything in `target` may not import anything in `from`: ARCHITECTURE.md §3. */
const forbid = (target, from, message) => ({
  target: `./src/${target}`,
  from: from.map((dir) => `./src/${dir}`),
  message,
})

const app = ['app.tsx', 'main.tsx', 'routes.tsx']
const features = readdirSync(new URL('src/features', import.meta.url))
const layers = [
  forbid('routes', app, 'Routes do not know the app around them.'),
  forbid('features', ['routes', ...app], 'Features do not know the routes that compose them.'),
  forbid('events', ['features', 'routes', 'ui', ...app], 'events may import only api and lib.'),
  forbid('api', ['events', 'ui', 'features', 'routes', ...app], 'api may import only lib.'),
  forbid('ui', ['api', 'events', 'features', 'routes', ...app], 'ui may import only lib.'),
  forbid('lib', ['api', 'ui', 'events', 'features', 'routes', ...app], 'lib imports nothing of ours.'),
  ...features.map((feature) => ({
    target: `./src/features/${feature}`,
    from: './src/features',
    except: [`./${feature}`],
    message: 'Features never import one another; a route composes them.',
  })),
]

export default tseslint.config(
  { ignores: ['dist', 'src/**/*.gen.ts', 'public'] },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  jsxA11y.flatConfigs.recommended,
  reactHooks.configs.flat['recommended-latest'],
  {
    files: ['src/**/*.{ts,tsx}'],
    languageOptions: { globals: globals.browser },
    plugins: { 'import-x': importX, 'check-file': checkFile },
    settings: { 'import-x/resolver-next': [createTypeScriptImportResolver()] },
    rules: {
      'import-x/no-cycle': 'error',
      'import-x/no-restricted-paths': ['error', { zones: layers }],
      'check-file/filename-naming-convention': [
        'error',
        { '**/*.{ts,tsx}': 'KEBAB_CASE' },
        { ignoreMiddleExtensions: true },
      ],
      'max-lines': ['warn', { max: MAX_LINES, skipBlankLines: true, skipComments: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      // The compiler already refuses unused names.
      '@typescript-eslint/no-unused-vars': 'off',
      'no-undef': 'off',
    },
  },
  { files: ['*.config.{js,ts}'], languageOptions: { globals: globals.node } },
  {
    // Tests mount the whole app from the outside.
    files: ['src/**/*.test.{ts,tsx}', 'src/test/**'],
    rules: { 'import-x/no-restricted-paths': 'off' },
  },
)
