# docker build -t simctl . && docker run --rm -v "$PWD:/work" --user "$(id -u)" simctl gate --baseline FILE
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
# With .git, from which the Go tool takes the version that simctl prints.
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /out/simctl ./cmd/simctl && mkdir /out/work

FROM gcr.io/distroless/static-debian12
COPY --from=build /out/simctl /usr/bin/simctl
# Where results go: mount a directory here.
COPY --from=build --chown=65534:65534 /out/work /work
# nobody
USER 65534:65534
WORKDIR /work
ENTRYPOINT ["/usr/bin/simctl"]
CMD ["--help"]
