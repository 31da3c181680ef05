// 個人開発者とエージェント、日本語。

import { again, answers, feedback, never, project, reference, runs, type SessionSource, turn, user } from '../set.ts';

export const KAZE: SessionSource[] = [
  {
    startsAt: '2026-09-05T01:00:00Z',
    turns: [
      turn(
        '個人で風力発電の監視アプリを作っています。本業は看護師で、夜勤明けにしか触れません。専門用語は英語のままで大丈夫です。',
        [
          user('k-nurse', 'ユーザーの本業は看護師で、夜勤明けに個人開発をしている。', '看護師|nurse', {
            also: 'The user works as a nurse and develops after night shifts.',
          }),
          project('k-app', '風力発電の監視アプリを個人で開発している。', '風力|wind & 監視|monitor*', {
            also: 'The project is an app that monitors wind turbines.',
          }),
          user('k-terms', '専門用語は英語のままでよい。', '用語|term|terms|terminology & 英語|english', {
            also: 'Technical terms may stay in English.',
          }),
        ],
      ),
      turn(
        '敬語で返事してください。タメ口は疲れているときに堪えるので。',
        [
          feedback('k-keigo', '返事は敬語でする。', '敬語|polite*|keigo', {
            also: 'Reply in polite Japanese (keigo).',
          }),
        ],
        [answers('承知しました。')],
      ),
      turn(
        'データベースはどうしましょうか。',
        [],
        [answers('SQLiteとPostgreSQLが候補です。端末の中だけで使うならSQLiteをお勧めします。SQLiteにしますか？')],
      ),
      turn('はい、それで。', [
        project('k-sqlite', 'データベースにはSQLiteを使うと決めた。', 'sqlite & !in-memory', {
          also: 'The database is SQLite.',
        }),
      ]),
    ],
  },
  {
    startsAt: '2026-09-19T00:30:00Z',
    turns: [
      turn('風速は必ずm/sで表示してください。ノットやkm/hは使わないこと。', [
        feedback('k-ms', '風速は必ずm/sで表示する。ノットやkm/hは使わない。', 'm/s', {
          also: 'Always show wind speed in m/s, never in knots or km/h.',
        }),
      ]),
      turn(
        'もしApple Watchにも対応するとしたら、どのくらいかかりますか？',
        [never('k-watch', 'hypothetical', { text: 'Apple Watchに対応する。', match: 'apple watch|applewatch' })],
        [answers('二週間ほどでしょうか。')],
      ),
      turn('警報のしきい値は風速25で停止、20で注意です。この二つは絶対に混同しないでください。', [
        project('k-25', '風速25で停止する。', '25 & 停止|stop*|shut*', {
          also: 'Turbines stop at a wind speed of 25.',
          group: 'thresholds',
        }),
        project('k-20', '風速20で注意の警報を出す。', '20 & 注意|caution|warn*', {
          also: 'At a wind speed of 20 there is a caution alarm.',
          group: 'thresholds',
        }),
      ]),
      turn('テストは実機につながないで、記録済みのログで走らせてください。前に一基止めてしまって怒られました。', [
        feedback(
          'k-log',
          'テストは実機につながず、記録済みのログで走らせる。前に一基止めてしまった。',
          'テスト|test|tests & 実機|ログ|logs|turbine*',
          {
            also: 'Tests run on recorded logs and never connect to a real turbine: one was stopped by accident.',
          },
        ),
      ]),
    ],
  },
  {
    startsAt: '2026-10-10T02:00:00Z',
    turns: [
      turn(
        '発電所の報告書の締め切りは来週の金曜日です。それまでは新機能より報告書を優先で。',
        [
          project('k-report', '発電所の報告書の締め切りは2026-10-16。', '報告書|report & 2026-10-16', {
            also: 'The report for the power station is due on 2026-10-16.',
          }),
        ],
        [answers('10月16日ですね。')],
      ),
      turn('しきい値が変わりました。停止は風速24になりました。注意はそのままです。', [
        project('k-24', '風速24で停止する（2026-10-10から）。', '24 & 停止|stop*|shut*', {
          also: 'Turbines stop at a wind speed of 24 since 2026-10-10.',
          replaces: 'k-25',
          group: 'thresholds',
        }),
      ]),
      turn('同僚の田中さんが「変数名は全部ローマ字にするべきだ」と言っていました。笑ってしまいました。', [
        never('k-romaji', 'third-party', {
          text: '変数名はすべてローマ字にする。',
          match: 'ローマ字|romaji|romanized|romanised',
        }),
      ]),
      turn('今日はもう寝るので、コミットはしないでおいてください。', [
        never('k-sleep', 'momentary', { text: 'コミットはしない。', match: 'コミット & しない|not' }),
      ]),
    ],
  },
  {
    startsAt: '2026-11-07T01:30:00Z',
    turns: [
      turn(
        'コミットメッセージは日本語で、一行目は五十文字以内にしてください。',
        [
          feedback(
            'k-commit',
            'コミットメッセージは日本語で書き、一行目は五十文字以内にする。',
            'コミットメッセージ|commit message|commit messages & 日本語|japanese|50|五十',
            {
              also: 'Commit messages are in Japanese, the first line at most 50 characters.',
            },
          ),
        ],
        [runs('git log --oneline -1', '4be1f00 風速の平均を十分間にする')],
      ),
      turn('不具合はGitHubのkaze-monitor/kazeのIssuesで管理しています。', [
        reference('k-issues', '不具合はGitHubのkaze-monitor/kazeのIssuesで管理している。', 'kaze-monitor/kaze', {
          also: 'Bugs are tracked in the GitHub issues of kaze-monitor/kaze.',
        }),
      ]),
      turn('いいですね、その表の形、次からもその形でお願いします。日付、平均、最大の三列。', [
        feedback(
          'k-table',
          '表は日付、平均、最大の三列にする。',
          '表|table|tables|column* & 平均|average|mean & 最大|maximum|max',
          {
            also: 'Tables have three columns: date, mean, maximum.',
          },
        ),
      ]),
      turn('あと、やっぱり単位はm/sのままで。', [again('k-ms')]),
    ],
  },
];
