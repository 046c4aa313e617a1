import ArgumentParser

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Finds current and future problems of a pipeline, and says what to do.",
        discussion: """
              belfry doctor Pipelines/quickstart.yaml         changes nothing: see belfry doctor pipeline --help
              belfry doctor apns Pipelines/production.yaml    asks APNs whether it would accept the pushes
            """,
        subcommands: [PipelineDoctorCommand.self, APNsDoctorCommand.self],
        defaultSubcommand: PipelineDoctorCommand.self)
}

struct PipelineDoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pipeline",
        abstract: "Checks a pipeline's file, data, logs, health and subscriptions. Short form: `belfry doctor FILE`.",
        discussion: """
            Changes nothing, and works whether the pipeline is running or not. It checks, in this order:

              file           is the pipeline file valid, with the settings of every stage?
              data           can the data folder be written? is there space? can other users read it?
              logs           are all segments of each log there, the last one undamaged? dead letters?
              home           do the NATS servers that keep the logs answer? do all have all events?
              health         do every stage and the gateway answer, if the pipeline is running?
              hosts          does every stage run on one host? do hosts and gateways answer? do clocks differ?
              store          can the gateway's store be read? does it fit the log of changes? indexes?
              subscriptions  which subscriptions cannot use an index? which can never match?
              apps           which apps are stopped because a transport rejects all their pushes?

            A subscription that cannot use an index is evaluated for every change of its record type. Similar \
            subscriptions are one finding, with the reason and a better way to write them. If more than 100 such \
            subscriptions are evaluated for one change, the finding is a warning, otherwise a note. The check `logs` \
            looks for damage only in the last segment of each log; `belfry log verify` reads whole logs. If the pipeline \
            has hosts and BELFRY_HOST names one, the logs and states of this host's stages are checked; a note says which \
            other hosts run the rest.

              belfry doctor Pipelines/quickstart.yaml
              belfry doctor Pipelines/quickstart.yaml --only subscriptions
              belfry doctor out                           a folder of logs
              belfry doctor Pipelines/quickstart.yaml --json | jq 'select(.fix)'

            In a pipe, or with --json, it prints each finding as a JSON object on one line: check, severity (ok, note, \
            warning, error), code, text, fix, and more members that depend on the code. Exits with 0 if all is well, \
            with 1 after a warning or an error.
            """)

    @OptionGroup var place: RecordedPlaceOptions

    @OptionGroup var keys: KeyOptions

    @Option(help: "Run only this check; may be repeated.")
    var only: [String] = []

    @Flag(help: "Print all findings as JSON even on a terminal.")
    var json = false

    static let checks: [any DoctorCheck] =
        [
            FileCheck(), DataCheck(), LogsCheck(), HomeCheck(), HealthCheck(), HostsCheck(), StoreCheck(),
        ] + StateCheck.all

    func validate() throws {
        let names = Self.checks.map(\.name)
        for name in only where !names.contains(name) {
            throw ValidationError("there is no check '\(name)'; there are: \(names.joined(separator: ", "))")
        }
    }

    func run() async throws {
        let target = try DoctorTarget(place.pipeline, logs: place.logs, keys: keys.pair())
        var report = DoctorReport(isJSON: json || !StandardOutput.isTerminal, isColoured: StandardOutput.isTerminal)
        for check in Self.checks where only.isEmpty || only.contains(check.name) {
            try report.print(await Self.findings(of: check, target), of: check.name)
        }
        try report.end()
    }

    /// If a check throws, returns the error as a finding, so that the other checks still run.
    private static func findings(of check: any DoctorCheck, _ target: DoctorTarget) async -> [Finding] {
        do { return try await check.findings(in: target) } catch {
            let reason = ToolFailure(explaining: error)?.message ?? "\(error)"
            return [Finding(.error, "\(check.name).unchecked", "cannot be checked: \(reason)")]
        }
    }
}

/// Prints findings as lines, for people or as JSON.
struct DoctorReport {
    /// How many findings of each check a terminal shows.
    static let shownMax = 20

    let isJSON: Bool
    private let painter: Painter
    private var counts: [Finding.Severity: Int] = [:]

    init(isJSON: Bool, isColoured: Bool) {
        self.isJSON = isJSON
        painter = Painter(isColoured: isColoured && !isJSON)
    }

    var hasProblems: Bool { counts.contains { $0.key.isProblem && $0.value > 0 } }

    mutating func print(_ findings: [Finding], of check: String) throws {
        for line in add(findings, of: check) { try StandardOutput.write(line: line) }
    }

    /// - Throws: ``ToolFailure`` with 1 after a warning or an error.
    func end() throws {
        if !isJSON { try StandardOutput.write(line: verdict) }
        if hasProblems { throw ToolFailure(.no) }
    }

    /// - Returns: The lines to print.
    mutating func add(_ findings: [Finding], of check: String) -> [String] {
        for finding in findings { counts[finding.severity, default: 0] += 1 }
        if isJSON { return findings.map { $0.json(check) } }
        let lines = findings.prefix(DoctorReport.shownMax).flatMap { text($0, check) }
        let left = findings.count - DoctorReport.shownMax
        return left > 0 ? lines + [indent + "… and \(left.grouped) more: --json shows all"] : lines
    }

    /// The last line.
    var verdict: String {
        let counted = [Finding.Severity.error, .warning, .note].compactMap { severity in
            counts[severity].map { $0.of(severity.rawValue) }
        }
        if hasProblems { return counted.joined(separator: ", ") }
        return counted.isEmpty ? "all is well" : "all is well; " + counted.joined(separator: ", ")
    }

    private let indent = String(repeating: " ", count: 24)

    private func text(_ finding: Finding, _ check: String) -> [String] {
        let head = painted(finding.severity) + check.padded(to: 15) + finding.text.withoutControls
        let fix = finding.fix.map { [indent + painter.bold("do: ") + $0.withoutControls] } ?? []
        return [head] + finding.lines.map { indent + $0.withoutControls } + fix
    }

    private func painted(_ severity: Finding.Severity) -> String {
        let word = severity.rawValue.padded(to: 9)
        return switch severity {
        case .ok: painter.green(word)
        case .note: painter.dim(word)
        case .warning: painter.bold(word)
        case .error: painter.red(word)
        }
    }
}
