import JSON

extension Script.Rule {
    /// `{"when":{…},"do":{…}}`
    init(_ fields: inout FieldReader) throws(FieldError) {
        self.init(do: Conduct())
        if var reader = try fields.nested("when") { when = try Conditions(&reader) }
        guard var reader = try fields.nested("do") else { throw FieldError(fields.path, "a rule needs \"do\"") }
        conduct = try Conduct(&reader)
        try fields.finish()
    }
}

extension Conditions {
    init(_ fields: inout FieldReader) throws(FieldError) {
        token = try fields.string("token").map { Pattern($0.lowercased()) }
        topic = try fields.string("topic").map { Pattern($0) }
        type = try fields.string("type")
        connection = try fields.count("connection")
        errors = try fields.count("errors")
        nth = try fields.count("nth")
        every = try fields.count("every")
        first = try fields.count("first")
        beyond = try fields.count("beyond")
        try readShare(&fields)
        if var rate = try fields.nested("above") { above = try Rate(&rate) }
        try fields.finish()
    }

    private mutating func readShare(_ fields: inout FieldReader) throws(FieldError) {
        seed = UInt64(try fields.integer("seed", 0...Int64.max) ?? 1)
        guard let value = fields.value("share") else { return }
        guard let number = value.double, (0...1).contains(number) else {
            throw fields.error("share", "expected a number from 0 to 1")
        }
        share = number
    }
}

extension Conditions.Rate {
    init(_ fields: inout FieldReader) throws(FieldError) {
        guard let count = try fields.integer("count", 0...1_000_000_000), let seconds = try fields.count("seconds")
        else { throw FieldError(fields.path, "\"count\" or \"seconds\" is missing") }
        self.init(count: Int(count), seconds: seconds)
        try fields.finish()
    }
}

extension Conduct {
    init(_ fields: inout FieldReader) throws(FieldError) {
        answer = try ScriptedAnswer(&fields)
        ending = try Conduct.ending(&fields, hasAnswer: answer != nil)
        latencyMilliseconds = try Conduct.latency(&fields)
        isEarly = try fields.flag("early")
        retryAfter = try fields.count("retryAfter")
        if var reader = try fields.nested("goaway") { goAway = try GoAway(&reader) }
        streams = try fields.integer("streams", 0...2_147_483_647).map { Int($0) }
        try fields.finish()
    }

    /// - Parameter hasAnswer: Whether the request is answered, so that nothing may end it without an answer.
    private static func ending(_ fields: inout FieldReader, hasAnswer: Bool) throws(FieldError) -> Ending? {
        let silence: Ending? = try fields.flag("silence") == true ? .silence : nil
        let drop: Ending? = try fields.flag("drop") == true ? .drop : nil
        let code: StreamError? = try fields.choice("reset")
        let endings = [("silence", silence), ("drop", drop), ("reset", code.map { .reset($0) })].filter { $0.1 != nil }
        let given = (hasAnswer ? ["status"] : []) + endings.map(\.0)
        if given.count > 1 { throw fields.error(given[1], "contradicts \"\(given[0])\": give one of them") }
        return endings.first?.1
    }

    /// Reads a number of milliseconds, or a list of two numbers: the least and the most.
    private static func latency(_ fields: inout FieldReader) throws(FieldError) -> ClosedRange<Int64>? {
        guard let value = fields.value("latency") else { return nil }
        let numbers = value.isArray ? value.elements.map(\.int64) : [value.int64, value.int64]
        guard numbers.count == 2, let low = numbers[0], let high = numbers[1], 0 <= low, low <= high, high <= 3_600_000
        else { throw fields.error("latency", "expected milliseconds or [least, most], at most 3600000") }
        return low...high
    }
}

extension ScriptedAnswer {
    init?(_ fields: inout FieldReader) throws(FieldError) {
        let status = try fields.integer("status", 200...599)
        reason = try fields.string("reason")
        timestamp = try fields.integer("timestamp", 0...Int64.max)
        guard let status else {
            guard reason == nil, timestamp == nil else {
                throw fields.error(reason == nil ? "timestamp" : "reason", "needs a \"status\" beside it")
            }
            return nil
        }
        self.status = Int(status)
    }
}

extension GoAway {
    init(_ fields: inout FieldReader) throws(FieldError) {
        self.init()
        try fields.choice("code", &code)
        reason = try fields.string("reason")
        text = try fields.string("text")
        timestamp = try fields.integer("timestamp", 0...Int64.max)
        lastStream = try GoAway.lastStream(&fields) ?? .current
        isSentTwice = try fields.flag("twice") ?? false
        closes = try fields.flag("close") ?? true
        try fields.finish()
    }

    private static func lastStream(_ fields: inout FieldReader) throws(FieldError) -> LastStream? {
        guard let value = fields.value("lastStream") else { return nil }
        if let id = value.int64, (0...2_147_483_647).contains(id) { return .id(Int(id)) }
        switch value.string {
        case "current": return .current
        case "before": return .before
        case "all": return .all
        default: throw fields.error("lastStream", "expected current, before, all or the number of a stream")
        }
    }
}
