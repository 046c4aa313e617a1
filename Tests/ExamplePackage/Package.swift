// swift-tools-version: 6.2
import PackageDescription

// A package of one's own whose tests run a whole Belfry pipeline. Outside this repository, give a URL instead of a path.
let package = Package(
    name: "notes",
    dependencies: [
        .package(name: "belfry", path: "../..")
    ],
    targets: [
        .testTarget(
            name: "NotesTests",
            dependencies: [
                .product(name: "PipelineTestKit", package: "belfry"),
                .product(name: "BelfryTestKit", package: "belfry"),
            ])
    ]
)
