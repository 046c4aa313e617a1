// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "belfry",
    products: [
        .library(name: "PipelineKit", targets: ["PipelineKit"]),
        .library(name: "PipelineTestKit", targets: ["PipelineTestKit"]),
        .library(name: "BelfryTestKit", targets: ["BelfryTestKit"]),
        .library(name: "BelfryClient", targets: ["BelfryClient"]),
        .executable(name: "belfry", targets: ["belfry"]),
        .executable(name: "belfry-bench", targets: ["belfry-bench"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    ],
    targets: libraries + stages + transports + executables + tests + [simulation]
)

for target in package.targets where target.type != .system {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            .treatAllWarnings(as: .error),
            // For `@_lifetime`: a view of an event's JSON cannot outlive the event. Packages that import Belfry do not
            // need this feature.
            .enableExperimentalFeature("Lifetimes"),
        ]
    // These targets access bytes through pointers; each such place is marked `unsafe`.
    if ["JSON", "EventLog", "ZeroMQ", "Match"].contains(target.name) {
        target.swiftSettings?.append(.strictMemorySafety())
    }
}

// A target may depend only on targets above it in this list, and on stages and transports, which have their own lists.
var libraries: [Target] {
    [
        .systemLibrary(name: "CZeroMQ", providers: [.apt(["libzmq3-dev"])]),
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CNGHTTP2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CNATS", providers: [.apt(["libnats-dev"])]),
        .systemLibrary(name: "CCRC32C"),
        .systemLibrary(name: "CSpawn"),
        .systemLibrary(name: "CSQLiteConfig"),
        .systemLibrary(name: "CSyncFileRange"),
        .systemLibrary(name: "CVector"),
        .target(name: "ZeroMQ", dependencies: ["CZeroMQ"]),
        .target(name: "Signing", dependencies: ["COpenSSL"]),
        .target(name: "JSON", dependencies: ["CVector"]),
        .target(name: "NATS", dependencies: ["CNATS", "JSON", "Signing"]),
        .target(name: "JetStream", dependencies: ["JSON", "NATS"]),
        .target(name: "Time"),
        .target(name: "Events", dependencies: ["JSON", "Time"]),
        .target(name: "EventLog", dependencies: ["CCRC32C", "CSyncFileRange", "Time"]),
        .target(name: "CloudKitModel", dependencies: ["JSON", "Events"]),
        .target(name: "Predicates", dependencies: ["JSON", "Time", "CloudKitModel"]),
        .target(name: "Access", dependencies: ["JSON", "Time", "Events", "Signing", "EventLog", "CloudKitModel"]),
        .target(
            name: "RecordStore",
            dependencies: [
                "CSQLiteConfig", "JSON", "Time", "Events", "CloudKitModel", "Predicates",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        .target(name: "BelfryClient", dependencies: ["JSON", "Events", "CloudKitModel", "Predicates"]),
        .target(
            name: "PipelineKit",
            dependencies: ["JSON", "Time", "Events", "EventLog", .product(name: "Yams", package: "Yams")]),
        .target(
            name: "JetStreamHome", dependencies: ["JSON", "NATS", "JetStream", "Time", "EventLog", "PipelineKit"]),
        .target(name: "HTTPServer", dependencies: ["Time", "PipelineKit"] + hummingbird),
        .target(
            name: "PipelineRuntime",
            dependencies: ["CSpawn", "JSON", "Time", "Events", "Signing", "EventLog", "PipelineKit", "ZeroMQ"]),
        .target(name: "BuiltInStages", dependencies: ["PipelineKit"] + stageNames),
        .target(name: "BuiltIns", dependencies: ["PipelineKit", "BuiltInStages"] + transportNames),
        .target(
            name: "Replay",
            dependencies: ["JSON", "Time", "Events", "EventLog", "PipelineKit", "PipelineRuntime", "ZeroMQ"]),
        .target(
            name: "PipelineTestKit",
            dependencies: [
                "JSON", "Time", "Events", "EventLog", "PipelineKit", "PipelineRuntime", "Replay", "ZeroMQ", "Coalesce",
            ]),
        .target(
            name: "BelfryTestKit", dependencies: ["PipelineTestKit", "Time", "PipelineKit", "BuiltIns", "Coalesce"]),
        .target(
            name: "LocalAPNs",
            dependencies: [
                "JSON", "Time", "Signing",
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
            ] + network
        ),
        .target(
            name: "StageTool",
            dependencies: [
                "JSON", "Time", "Events", "EventLog", "PipelineKit", "PipelineRuntime", "Replay", "ZeroMQ",
                "JetStreamHome",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
        .target(
            name: "WebServices",
            dependencies: [
                "JSON", "Time", "Events", "CloudKitModel", "Predicates", "PipelineKit", "PipelineRuntime", "ZeroMQ",
                "BuiltInStages", "StageTool", "HTTPServer", "Access", "RecordStore", "Signing", "EventLog",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
        .target(
            name: "Inspect",
            dependencies: [
                "JSON", "Time", "Events", "EventLog", "CloudKitModel", "Predicates", "PipelineKit", "PipelineRuntime",
                "BuiltIns",
                "Replay", "StageTool",
            ]
        ),
        .target(
            name: "BelfryTool",
            dependencies: [
                "JSON", "Time", "Events", "EventLog", "PipelineKit", "PipelineRuntime", "Replay", "ZeroMQ", "StageTool",
                "Inspect", "BuiltIns", "PipelineTestKit", "BelfryTestKit", "LocalAPNs", "Signing", "WebServices",
                "Access", "RecordStore", "CloudKitModel", "TransportAPNs", "TransportFile", "JetStreamHome",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),
        .target(
            name: "Bench",
            dependencies: [
                "JSON", "Time", "Events", "EventLog", "PipelineKit", "PipelineRuntime", "Replay", "ZeroMQ", "StageTool",
                "BuiltIns", "Match", "Coalesce", "Payload", "Deliver", "LocalAPNs", "Signing", "TransportAPNs",
                "RecordStore", "WebServices", "NATS", "JetStream", "JetStreamHome",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
    ]
}

var stages: [Target] {
    [
        .stage("Ingest", ["CloudKitModel", "Predicates"]),
        .stage("Match", ["CVector", "Predicates"]),
        .stage("Coalesce", ["CloudKitModel"]),
        .stage("Payload", ["CloudKitModel"]),
        .stage("Deliver"),
    ]
}

var transports: [Target] {
    [
        .transport("File", ["EventLog"]),
        .transport("Webhook", ["CCurl", "Signing"]),
        .transport(
            "Courier",
            [
                "EventLog", "HTTPServer", .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        .transport("APNs", ["CNGHTTP2", "EventLog", "Signing"] + network),
    ]
}

var executables: [Target] {
    let programs: [(name: String, dependencies: [Target.Dependency])] =
        [
            ("belfry", ["BelfryTool", "StageTool"]), ("belfry-bench", ["Bench", "StageTool"]),
            ("belfry-deliver", ["PipelineKit", "StageTool", "BuiltIns", "Deliver"]),
            ("belfry-api", ["WebServices", "StageTool"]),
        ]
        + ["Ingest", "Match", "Coalesce", "Payload"].map {
            ("belfry-" + $0.lowercased(), ["PipelineKit", "StageTool", "BuiltInStages", .target(name: $0)])
        }
    return programs.map {
        .executableTarget(name: $0.name, dependencies: $0.dependencies, path: "Sources/Executables/\($0.name)")
    }
}

var tests: [Target] {
    [
        .target(
            name: "TestSupport",
            dependencies: ["JSON", "Time", "Events", "EventLog", "PipelineKit", "PipelineRuntime"],
            path: "Tests/Support")
    ]
        + libraries.filter {
            ![
                "CZeroMQ", "CCurl", "CNGHTTP2", "COpenSSL", "CNATS", "CCRC32C", "CSpawn", "CSQLiteConfig",
                "CSyncFileRange", "CVector", "BuiltInStages", "BuiltIns", "BelfryTestKit", "StageTool",
            ].contains($0.name)
        }.map {
            .tests(of: $0, testsAlsoUse[$0.name] ?? [])
        }
        + [
            .testTarget(
                name: "BelfryClientSwift5Tests", dependencies: ["BelfryClient"], path: "Tests/BelfryClientSwift5",
                swiftSettings: [.swiftLanguageMode(.v5)])
        ]
        + stages.map { .tests(of: $0, under: "Stages/") }
        + transports.map {
            .tests(
                of: $0, under: "Transports/",
                ["PipelineTestKit"] + ($0.name == "TransportAPNs" ? ["LocalAPNs"] : []))
        }
        + ["Integration", "Faults", "EndToEnd"].map {
            .testTarget(
                name: "\($0)Tests",
                dependencies: [
                    "JSON", "Time", "Events", "EventLog", "PipelineKit", "PipelineRuntime", "Replay", "PipelineTestKit",
                    "BelfryTestKit", "ZeroMQ", "BuiltIns",
                    "StageTool", "Inspect", "BelfryTool", "TestSupport",
                ] + ($0 == "Faults" ? ["LocalAPNs"] : []),
                path: "Tests/\($0)", exclude: notSwift[$0] ?? [])
        }
}

/// Data and scripts in the folders of tests. The test targets exclude them.
var notSwift: [String: [String]] {
    [
        "Integration": ["Logs"],
        "EndToEnd": [
            "Support/web_clients.py", "Support/web_writers.py", "Support/schemathesis.sh", "Support/signed_request.sh",
        ],
    ]
}

/// The modules that tests import in addition to the imports of the target that they test.
var testsAlsoUse: [String: [Target.Dependency]] {
    [
        "BelfryClient": ["PipelineTestKit", "BelfryTestKit"], "BelfryTool": ["Bench", "JetStream", "NATS"],
        "Inspect": ["BelfryTool", "TransportAPNs"], "WebServices": ["PipelineTestKit", "BuiltIns"],
        "NATS": ["ZeroMQ"], "PipelineRuntime": ["StageTool"], "PipelineTestKit": ["BelfryTestKit", "BuiltIns"],
    ]
}

var simulation: Target {
    .testTarget(
        name: "SimulationTests",
        dependencies: [
            "JSON", "Time", "Events", "EventLog", "PipelineKit", "PipelineRuntime", "ZeroMQ", "BuiltIns", "Match",
            "Coalesce",
            "Deliver", "Replay", "TestSupport",
        ],
        path: "Tests/Simulation")
}

/// SwiftNIO with TLS.
var network: [Target.Dependency] {
    ["NIOCore", "NIOPosix", "NIOTLS"].map { .product(name: $0, package: "swift-nio") }
        + [.product(name: "NIOSSL", package: "swift-nio-ssl")]
}

/// Hummingbird's HTTP/1 and HTTP/2, and the modules whose types its interface uses.
var hummingbird: [Target.Dependency] {
    ["HummingbirdCore", "HummingbirdHTTP2"].map { .product(name: $0, package: "hummingbird") }
        + ["NIOCore", "NIOHTTP1", "NIOPosix"].map { .product(name: $0, package: "swift-nio") }
        + [
            .product(name: "HTTPTypes", package: "swift-http-types"),
            .product(name: "Logging", package: "swift-log"),
            .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
            .product(name: "NIOSSL", package: "swift-nio-ssl"),
        ]
}

var stageNames: [Target.Dependency] { stages.map { .target(name: $0.name) } }
var transportNames: [Target.Dependency] { transports.map { .target(name: $0.name) } }

extension Target {
    static func stage(_ name: String, _ more: [Dependency] = []) -> Target {
        .target(
            name: name, dependencies: ["JSON", "Time", "Events", "PipelineKit"] + more, path: "Sources/Stages/\(name)")
    }

    static func transport(_ name: String, _ more: [Dependency] = []) -> Target {
        .target(
            name: "Transport\(name)", dependencies: ["JSON", "Time", "Events", "PipelineKit"] + more,
            path: "Sources/Transports/\(name)")
    }

    static func tests(of target: Target, under folder: String = "", _ more: [Dependency] = []) -> Target {
        let name = target.name.hasPrefix("Transport") ? String(target.name.dropFirst("Transport".count)) : target.name
        return .testTarget(
            name: "\(target.name)Tests",
            dependencies: target.dependencies + more + [.target(name: target.name), "TestSupport"],
            path: "Tests/\(folder)\(name)")
    }
}
