import ArgumentParser
import PipelineKit
import TransportAPNs

struct APNsDoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apns",
        abstract: "Asks APNs whether it would accept the pushes of each app. No device gets a push.",
        discussion: """
            Sends one request with an invented device token for each app of the pipeline's APNs transports. APNs checks \
            key, team, topic, environment and clock before the token. So if APNs rejects only the token, all of these are \
            right.

              belfry doctor apns Pipelines/production.yaml

            Prints a finding for each app, and one more for a certificate that has expired or expires within 30 days. \
            Prints JSON in a pipe. Exits with 0 if all is well, with 1 after a warning or an error.
            """)

    @Argument(help: "The pipeline file.", completion: .file(extensions: ["yaml", "yml"]))
    var pipeline: String

    @OptionGroup var output: JSONOption

    func run() async throws {
        let checked = try CheckedPipeline(path: pipeline)
        let routes = try TransportRoute.all(in: checked).filter { $0.binding.kind == APNsTransport.kind }
        guard !routes.isEmpty else {
            throw ToolFailure(.configuration, "\(pipeline) has no APNs transport (use: apns)")
        }
        var report = DoctorReport(isJSON: output.isJSON, isColoured: StandardOutput.isTerminal)
        for route in routes { try report.print(await Self.findings(route), of: "apns") }
        try report.end()
    }

    private static func findings(_ route: TransportRoute) async -> [Finding] {
        do {
            let settings = try route.binding.settings.decode(APNsSettings.self)
            let context = TransportContext(name: route.binding.name, folder: route.folder) { _ in }
            return try await APNsProbe(settings, context: context).run().flatMap {
                [Finding($0)] + [$0.certificate.map(Finding.init)].compactMap(\.self)
            }
        } catch {
            return [
                Finding(
                    .error, "apns.unchecked", "transport \(route.binding.name): \(error)",
                    fix: "check that its key files exist, contain keys from Apple, and are readable by you alone")
            ]
        }
    }
}

extension Finding {
    fileprivate init(_ certificate: EndingCertificate) {
        self.init(
            certificate.hasExpired ? .error : .warning, "apns.certificate", certificate.textWithApp,
            fix: certificate.remedy, ["app": .text(certificate.app ?? ""), "days": .count(certificate.days)])
    }

    fileprivate init(_ found: APNsProbe.Finding) {
        let answer = [found.status.map(String.init), found.reason].joined() ?? "no answer"
        self.init(
            found.verdict == .good ? .ok : .error, "apns.\(found.verdict.rawValue)",
            "\(found.app): \(found.text) (\(answer))",
            fix: found.remedy,
            [
                "app": .text(found.app), "host": .text(found.host), "status": .count(found.status ?? 0),
                "reason": .text(found.reason ?? ""), "milliseconds": .number(found.duration / .milliseconds(1)),
            ])
    }
}
