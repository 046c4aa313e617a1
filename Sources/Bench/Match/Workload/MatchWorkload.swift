import JSON

/// The subscriptions and changes of the match bench, as ingest commands. The same seed makes the same bytes everywhere.
///
/// There are forty record types; the first types are more frequent. Each type has two anchors and five plain fields.
/// Anchors are the fields that most apps subscribe to. Most predicates test one anchor and up to three plain fields.
/// A few predicates only exclude values, so that no index can serve them. The number of an anchor's values grows
/// with the number of subscriptions. The number of a plain field's values is fixed. A dense workload differs: see
/// ``isDense``.
struct MatchWorkload {
    let seed: UInt64
    /// The number of subscriptions.
    let count: Int
    /// Whether the workload is dense: it has eight types, fuller records, and anchors with only twenty values. Most
    /// predicates test only one or two plain fields. So more pairs match.
    let isDense: Bool
    let types: [RecordType]
    let cumulativeTypeWeights: [Int]
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
        precondition(subscriptions > 0, "the workload has \(subscriptions) subscriptions")
        (self.seed, count, self.isDense) = (seed, subscriptions, isDense)
        users = max(20, subscriptions / 2)
        var random = WorkloadRandom(seed: seed, stream: "schema")
        types = MatchWorkload.typeNames.prefix(isDense ? 8 : MatchWorkload.typeNames.count).map {
            RecordType($0, &random)
        }
        cumulativeTypeWeights = WorkloadRandom.zipf(types.count)
    }
}

extension MatchWorkload.RecordType {
    fileprivate init(_ name: String, _ random: inout WorkloadRandom) {
        let cumulativeWeights = WorkloadRandom.cumulativeWeights(WorkloadField.plain.map(\.weight))
        var plain: [WorkloadField] = []
        while plain.count < 5 {
            let field = WorkloadField.plain[random.weighted(cumulativeWeights)]
            if !plain.contains(where: { $0.name == field.name }) { plain.append(field) }
        }
        self.init(name: name, anchors: random.sample(WorkloadField.anchors, 2), plain: plain)
    }
}

// MARK: - Values

extension MatchWorkload {
    /// The earliest time in milliseconds since 1970, and the milliseconds from the earliest to the latest time.
    private static let (earliestTime, timeSpan) = (1_600_000_000_000, 200_000_000_000)

    /// A random value of a field; if the field is a list, one random element. Subscriptions and changes both use
    /// this method, so the same values are frequent in both.
    func value(_ field: WorkloadField, _ random: inout WorkloadRandom) -> WorkloadValue {
        switch field.values {
        case .threads(let share): .text("\(field.name.prefix(1))\(rank(share, &random))")
        case .references(let share), .members(let share): .text("_u\(rank(share, &random))")
        case .items(let share): .integer(rank(share, &random))
        case .choice(let values, let cumulativeWeights), .someOf(let values, let cumulativeWeights):
            .text(values[random.weighted(cumulativeWeights)])
        case .title(let words): title(words, &random)
        case .integers(let limit, let isSkewed): .integer(isSkewed ? random.skewed(limit) : random.below(limit))
        case .hundredths(let limit, let isSkewed): .hundredths(isSkewed ? random.skewed(limit) : random.below(limit))
        case .time: .integer(MatchWorkload.earliestTime + random.below(MatchWorkload.timeSpan))
        }
    }

    private func rank(_ share: Int, _ random: inout WorkloadRandom) -> Int {
        random.skewed(isDense ? 20 : max(20, count / share))
    }

    private func title(_ words: [String], _ random: inout WorkloadRandom) -> WorkloadValue {
        let first = words[random.skewed(words.count)]
        return .text("\(first) \(WorkloadField.word(random.below(400)))")
    }

    /// The end of a range that begins at `start`. Its width is a percentage of the span of all the field's values. The
    /// end may be greater than the field's greatest value.
    func end(of field: WorkloadField, from start: WorkloadValue, percent: Int) -> WorkloadValue {
        switch (field.values, start) {
        case (.hundredths(let limit, _), .hundredths(let number)): .hundredths(number + limit * percent / 100)
        case (.integers(let limit, _), .integer(let number)): .integer(number + limit * percent / 100)
        case (_, .integer(let number)): .integer(number + MatchWorkload.timeSpan * percent / 100)
        default: start
        }
    }

    /// Chooses two to `drawsMax` random values of a field. Returns them sorted, each only once, so there may be fewer.
    func severalValues(_ field: WorkloadField, drawsMax: Int, _ random: inout WorkloadRandom) -> [WorkloadValue] {
        distinctValues(field, draws: 2 + random.below(drawsMax - 1), &random)
    }

    /// Chooses `draws` random values of a field. Returns them sorted, each only once, so there may be fewer.
    func distinctValues(_ field: WorkloadField, draws: Int, _ random: inout WorkloadRandom) -> [WorkloadValue] {
        var values: Set<WorkloadValue> = []
        for _ in 0..<draws { values.insert(value(field, &random)) }
        return values.sorted()
    }
}
