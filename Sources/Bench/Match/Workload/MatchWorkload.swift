import JSON

/// Saved subscriptions and changes of records to measure matching with, as ingest commands: seeded, the same bytes
/// everywhere.
///
/// Forty record types, the first more often, each with two fields that apps subscribe to and five others. Most
/// predicates ask for one of the former and for up to three others; few hold what no index serves. The values of the
/// former grow in number with the subscriptions, the others' do not.
struct MatchWorkload {
    let seed: UInt64
    let count: Int
    /// For checks rather than measurements: fewer types, fuller records, shorter predicates, so that much matches.
    let isDense: Bool
    let types: [RecordType]
    let typeSums: [Int]
    /// Half as many as subscriptions.
    let users: Int

    struct RecordType {
        let name: String
        let anchors: [WorkloadField]
        let plain: [WorkloadField]
    }

    static let zones = WorkloadField.words("Notes Shared Archive Work")

    private static let typeNames = WorkloadField.words(
        """
        Note Message Photo Task Event Contact Comment Post Place Recipe Workout Invoice Order Product Review Playlist \
        Track Album Book Chapter Bookmark Reminder Journal Trip Expense Habit Goal Project Issue Document Page Sketch \
        Sensor Reading Alert Badge Team Match Score Poll
        """)

    /// - Parameter subscriptions: At least one.
    init(seed: UInt64, subscriptions: Int, isDense: Bool = false) {
        precondition(subscriptions > 0, "a workload has a subscription")
        (self.seed, count, self.isDense) = (seed, subscriptions, isDense)
        users = max(20, subscriptions / 2)
        var draw = WorkloadDraw(seed: seed, stream: "schema")
        types = MatchWorkload.typeNames.prefix(isDense ? 8 : MatchWorkload.typeNames.count).map {
            RecordType($0, &draw)
        }
        typeSums = WorkloadDraw.zipf(types.count)
    }
}

extension MatchWorkload.RecordType {
    fileprivate init(_ name: String, _ draw: inout WorkloadDraw) {
        let sums = WorkloadDraw.sums(WorkloadField.plain.map(\.weight))
        var plain: [WorkloadField] = []
        while plain.count < 5 {
            let field = WorkloadField.plain[draw.weighted(sums)]
            if !plain.contains(where: { $0.name == field.name }) { plain.append(field) }
        }
        self.init(name: name, anchors: draw.sample(WorkloadField.anchors, 2), plain: plain)
    }
}

// MARK: - Values

extension MatchWorkload {
    /// Milliseconds since 1970, and how many of them a time may come later.
    private static let (epoch, span) = (1_600_000_000_000, 200_000_000_000)

    /// Subscriptions and changes draw alike: what is common in the ones is common in the others.
    func value(_ field: WorkloadField, _ draw: inout WorkloadDraw) -> WorkloadValue {
        switch field.values {
        case .threads(let share): .text("\(field.name.prefix(1))\(rank(share, &draw))")
        case .references(let share), .members(let share): .text("_u\(rank(share, &draw))")
        case .items(let share): .integer(rank(share, &draw))
        case .choice(let values, let sums), .someOf(let values, let sums): .text(values[draw.weighted(sums)])
        case .title(let words): title(words, &draw)
        case .integers(let limit, let isSkewed): .integer(isSkewed ? draw.skewed(limit) : draw.below(limit))
        case .hundredths(let limit, let isSkewed): .hundredths(isSkewed ? draw.skewed(limit) : draw.below(limit))
        case .time: .integer(MatchWorkload.epoch + draw.below(MatchWorkload.span))
        }
    }

    private func rank(_ share: Int, _ draw: inout WorkloadDraw) -> Int {
        draw.skewed(isDense ? 20 : max(20, count / share))
    }

    private func title(_ words: [String], _ draw: inout WorkloadDraw) -> WorkloadValue {
        let first = words[draw.skewed(words.count)]
        return .text("\(first) \(WorkloadField.word(draw.below(400)))")
    }

    /// A range's end: so many parts in a hundred of all that the field may be above its start.
    func end(of field: WorkloadField, from start: WorkloadValue, percent: Int) -> WorkloadValue {
        switch (field.values, start) {
        case (.hundredths(let limit, _), .hundredths(let number)): .hundredths(number + limit * percent / 100)
        case (.integers(let limit, _), .integer(let number)): .integer(number + limit * percent / 100)
        case (_, .integer(let number)): .integer(number + MatchWorkload.span * percent / 100)
        default: start
        }
    }

    /// Two or more of a field's values, in order; fewer where some were drawn twice.
    func several(_ field: WorkloadField, most: Int, _ draw: inout WorkloadDraw) -> [WorkloadValue] {
        distinct(field, 2 + draw.below(most - 1), &draw)
    }

    func distinct(_ field: WorkloadField, _ count: Int, _ draw: inout WorkloadDraw) -> [WorkloadValue] {
        var values: Set<WorkloadValue> = []
        for _ in 0..<count { values.insert(value(field, &draw)) }
        return values.sorted()
    }
}
